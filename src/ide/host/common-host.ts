import type { Clock } from "../../base/clock.ts";
import { processExists } from "../../base/node/process-exists.ts";
import { readStateOnce } from "../account/state-db.ts";
import { readFileFacts } from "../apps/file-facts.ts";
import type { Host } from "./host.ts";
import { readFolder, readTextFile } from "./read-file.ts";

export interface CommonHostOptions {
  readonly home: string;
  readonly clock: Clock;
  /** `process.env`; empty by default. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Whether a process exists: `process.kill(pid, 0)`, decided by its error. A test gives its own answer. */
  readonly isAlive?: (pid: number) => boolean;
}

const attempts = 6;
const pauseMs = 40;

/** The parts of a host that are the same on every system: files, and the state database. */
export function commonHost(
  options: CommonHostOptions,
): Pick<Host, "home" | "variables" | "isAlive" | "readText" | "listFolder" | "fileFacts" | "readState"> {
  return {
    home: options.home,
    variables: options.variables ?? {},
    isAlive: options.isAlive ?? processExists,
    readText: readTextFile,
    listFolder: readFolder,
    fileFacts: readFileFacts,

    /** SQLite waits on the event loop, so each attempt is short and the pauses between them are ours. */
    async readState(path, keys, signal) {
      for (let attempt = 1; ; attempt++) {
        const read = await readStateOnce(path, keys);
        if (read.kind !== "busy") return read;
        if (attempt === attempts) return { kind: "unreadable", why: "was locked by the IDE the whole time" };
        await options.clock.sleep(pauseMs, signal);
      }
    },
  };
}
