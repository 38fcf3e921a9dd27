import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { barrierTo } from "../../base/node/file-access.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { removeIfThere } from "../../base/node/move-file.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import type { SessionStore } from "../../gateway/dashboard/dashboard-sessions.ts";

const recordSchema = z.object({
  /** Absent while it starts or stops, and where it listens on a socket. */
  url: z.url().optional(),
  /** The Unix domain socket that it listens on. */
  socket: z.string().optional(),
  /** It takes no more requests, and ends. */
  isStopping: z.boolean().optional(),
  pid: z.number().int().positive(),
  /** Random, made at each start: a gateway that answers with another one did not write the file. */
  instance: z.string(),
  version: z.string(),
  startedAtMs: z.number(),
  /** `command`: a command needed it, so it ends when it is idle. `program`: it runs inside a program that uses Millrace as a library. */
  startedBy: z.enum(["terminal", "background", "service", "command", "program"]).optional(),
  /** The command line it was started with, for a restart. */
  argv: z.array(z.string()).optional(),
  /** Its options as they would be typed, by name, so that other commands look where it looks. */
  options: z.record(z.string(), z.string()).optional(),
});

/** The gateway that has this home, as it wrote it down for other commands of the same user. */
export type GatewayRecord = z.output<typeof recordSchema>;

/** A gateway that can be called. */
export type GatewayFile = GatewayRecord & { readonly url: string };

/** Writes the file atomically (0600). Throws the file system's errors. */
export function writeGatewayFile(file: string, record: GatewayRecord): void {
  replaceFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
}

/**
 * Reads the record of the gateway that has this home; undefined without a file, or if Millrace did not write it. Throws `degraded` where
 * this user may not read it: a gateway may run.
 */
export function readGatewayRecord(file: string): GatewayRecord | undefined {
  try {
    const parsed = recordSchema.safeParse(JSON.parse(readFileSync(file, "utf8")));
    return parsed.success ? parsed.data : undefined;
  } catch (error) {
    if (barrierTo(file)?.cannot === "read") throw fileProblem(error, file) ?? error;
    return undefined; // no file, or half of one from a machine that lost power: the same as none
  }
}

/** The same for a gateway that can be called: undefined also while it starts or stops, or where it listens on a socket. */
export function readGatewayFile(file: string): GatewayFile | undefined {
  const record = readGatewayRecord(file);
  return record?.url === undefined ? undefined : { ...record, url: record.url };
}

const kept = z.array(
  z.object({
    digest: z.string().regex(/^[0-9a-f]{64}$/),
    madeAtMs: z.number(),
    usedAtMs: z.number().optional(),
    showsTexts: z.boolean().optional(),
    isLink: z.boolean().optional(),
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
