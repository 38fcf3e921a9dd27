import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../base/clock.ts";
import { clearCodec, type LogCodec } from "../codec.ts";
import { openLog } from "../open-log.ts";
import { defaultRetention, type Retention } from "../retention.ts";
import type { LogStore } from "../store.ts";
import { HeldFile } from "./held-file.ts";
import { openDatabase } from "./open-database.ts";
import { SqliteMedium } from "./sqlite-medium.ts";

export interface SqliteLogOptions {
  /** The file; its folder is made if needed. */
  readonly path: string;
  readonly clock: Clock;
  readonly codec?: LogCodec;
  readonly retention?: Retention;
  /** The file's largest size, in pages of 4 KiB; as large as the disk where not said. */
  readonly maxPages?: number;
  /** How long opening waits for another program's lock, while nothing else runs; two seconds where not said. */
  readonly openTimeoutMs?: number;
  /** Told when the file was gone and was put back, with all that it held. */
  readonly onRestored?: () => void;
}

/**
 * A log in a SQLite file (WAL), which is put back if it is taken away. `setAside` names the copy of a damaged file that stood there.
 *
 * @throws MillraceError `degraded` when the file cannot be used: full, not writable, locked, from a newer version.
 */
export async function openSqliteLog({
  path,
  clock,
  codec = clearCodec,
  retention = defaultRetention,
  maxPages,
  openTimeoutMs,
  onRestored,
}: SqliteLogOptions): Promise<{ readonly store: LogStore; readonly setAside: string | undefined }> {
  const { database, reopen, setAside } = await openDatabase(path, String(clock.now()), openTimeoutMs);
  const limited = (opened: DatabaseSync) => {
    if (maxPages !== undefined) opened.exec(`PRAGMA max_page_count = ${Math.trunc(maxPages)}`);
    return opened;
  };
  const file = new HeldFile({
    path,
    database: limited(database),
    reopen: () => limited(reopen()),
    ...(onRestored && { onRestored }),
  });
  return { store: openLog({ medium: new SqliteMedium(file, clock), codec, clock, retention }), setAside };
}
