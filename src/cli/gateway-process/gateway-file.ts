import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { removeIfThere, replaceFileSync } from "../../base/node/replace-file.ts";
import type { SessionStore } from "../../gateway/dashboard/dashboard-sessions.ts";

const gatewayFileSchema = z.object({
  url: z.url(),
  pid: z.number().int().positive(),
  /** Random, made at each start: a gateway that answers with another one did not write the file. */
  instance: z.string(),
  version: z.string(),
  startedAtMs: z.number(),
  /** Absent in files of earlier versions: from a terminal. */
  startedBy: z.enum(["terminal", "background", "service"]).optional(),
  /** The command line it was started with, for a restart. */
  argv: z.array(z.string()).optional(),
  /** Its options as they would be typed, by name, so that other commands look where it looks. */
  options: z.record(z.string(), z.string()).optional(),
});

/** Where a running gateway is, as it wrote it down for other commands of the same user. */
export type GatewayFile = z.output<typeof gatewayFileSchema>;

/** How often it is looked whether the file is there; ms. A row of docs/retries.md. */
const keepEveryMs = 5_000;

/** Writes the file atomically (0600). Throws the file system's errors. */
export function writeGatewayFile(file: string, address: GatewayFile): void {
  replaceFileSync(file, `${JSON.stringify(address, null, 2)}\n`);
}

/**
 * Keeps the file in place while the gateway runs, until the signal aborts. If the disk is full, or the folder is not writable or
 * was removed, other commands cannot find the gateway, but the gateway still runs. Does not touch another gateway's file. Never
 * rejects; reports once why the file cannot be written.
 */
export async function keepGatewayFile(
  file: string,
  address: GatewayFile,
  { clock, onProblem }: { readonly clock: Clock; readonly onProblem: (error: unknown) => void },
  signal: AbortSignal,
): Promise<void> {
  let told = false;
  const write = () => {
    try {
      writeGatewayFile(file, address);
    } catch (error) {
      if (!told) onProblem(error);
      told = true;
    }
  };
  write(); // over what one that was killed left there
  while (!signal.aborted) {
    await bestEffort(clock.sleep(keepEveryMs, signal));
    if (!signal.aborted && !existsSync(file)) write();
  }
  if (readGatewayFile(file)?.instance === address.instance) removeIfThere(file);
}

/** Reads the gateway's address from the file; undefined without a file, or if Millrace did not write it. */
export function readGatewayFile(file: string): GatewayFile | undefined {
  try {
    const parsed = gatewayFileSchema.safeParse(JSON.parse(readFileSync(file, "utf8")));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined; // no file, or half of one from a machine that lost power: the same as none
  }
}

const kept = z.array(
  z.object({
    digest: z.string().regex(/^[0-9a-f]{64}$/),
    madeAtMs: z.number(),
    usedAtMs: z.number().optional(),
    showsTexts: z.boolean().optional(),
  }),
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
