import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { removeIfThere, replaceFileSync } from "../../base/node/replace-file.ts";
import type { SessionStore } from "../../gateway/dashboard/dashboard-sessions.ts";

const kept = z.array(
  z.object({ digest: z.string().regex(/^[0-9a-f]{64}$/), madeAtMs: z.number(), showsTexts: z.boolean().optional() }),
);

/** The file in Millrace's own folder that leads a browser to the dashboard's one-time link. */
export function linkFileIn(folder: string): string {
  return join(folder, "dashboard.html");
}

/**
 * The dashboard's sessions in a file (0600), as digests: an open page stays signed in after a restart of the gateway. If the file
 * cannot be read or written, users only have to sign in again.
 */
export function sessionFile(file: string): SessionStore {
  return {
    load() {
      try {
        return kept.parse(JSON.parse(readFileSync(file, "utf8")));
      } catch {
        return []; // none yet, or not ours: the user signs in again
      }
    },
    save(sessions) {
      try {
        replaceFileSync(file, JSON.stringify(sessions));
      } catch {
        // the session lives in memory, and ends with the gateway
      }
    },
    removeLinkFile: () => removeIfThere(linkFileIn(dirname(file))),
  };
}
