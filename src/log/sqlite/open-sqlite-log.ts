import type * as Sqlite from "node:sqlite";
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import { isMillraceError } from "../../base/errors.ts";
import type { StoreLifecycle } from "../lifecycle.ts";
import { clearCodec, type LogCodec } from "../medium/codec.ts";
import { openLog } from "../medium/open-log.ts";
import { defaultRetention, type Retention } from "../retention.ts";
import type { LogStore } from "../store.ts";
import type { Damage } from "./damage.ts";
import { HeldFile, type KeptFile } from "./held-file.ts";
import { Ledger } from "./ledger.ts";
import { loadSqlite } from "./load-sqlite.ts";
import { openDatabase } from "./open-database.ts";
import { openToRead } from "./open-to-read.ts";
import { ReadableFile } from "./readable-file.ts";
import { isUnwritable } from "./sqlite-errors.ts";
import { SqliteMedium } from "./sqlite-medium.ts";

export interface SqliteLogOptions {
  /** The file; its folder is made if needed. */
  readonly path: string;
  readonly clock: Clock;
  readonly codec?: LogCodec;
  readonly retention?: Retention;
  /** The file's largest size, in pages of 4 KiB; unset: as large as the disk. */
  readonly maxPages?: number;
  /** How long opening waits for another program's lock, while nothing else runs; two seconds by default. */
  readonly openTimeoutMs?: number;
  /** Whether the process of an owner has certainly ended. A log of an older version is not updated while one of its owners lives. */
  readonly ownerIsGone?: (owner: string) => boolean;
  readonly events?: EventSink<StoreLifecycle>;
}

/** How often a log is tried again that an older gateway may use; ms. */
const lookEveryMs = 500;

/**
 * A log in a SQLite file (WAL), which is put back if it is taken away. `setAside` names the copy of a damaged file that stood there. A
 * file that cannot be written is read: each write throws `degraded`, and tries to open it for writing first.
 *
 * @throws MillraceError `degraded` when the file cannot be used: unreadable, locked, from a newer version, in use by an older one.
 */
export async function openSqliteLog(
  options: SqliteLogOptions,
): Promise<{ readonly store: LogStore; readonly setAside: string | undefined }> {
  const { path, clock, codec = clearCodec, retention = defaultRetention, events } = options;
  const sqlite = await loadSqlite();
  const { file, damage, lostKeys } = await onceUnused((nowMs) => openFile(sqlite, options, nowMs), clock);
  if (damage !== undefined) events?.emit("store_damaged", damage);
  const medium = new SqliteMedium({ file, clock, ledger: new Ledger(path, clock), ...(lostKeys && { lostKeys }) });
  return { store: openLog({ medium, codec, clock, retention }), setAside: damage?.copy };
}

/**
 * Waits for the lease of an older gateway that was killed: without the log nobody knows which requests have their answer already. A
 * gateway that renews its lease runs, so its error is thrown.
 */
async function onceUnused<T>(open: (nowMs: number) => T, clock: Clock): Promise<T> {
  for (let endsMs = Infinity; ; ) {
    const nowMs = clock.now();
    try {
      return open(nowMs);
    } catch (error) {
      const leftMs = isMillraceError(error) ? error.retryAfterMs : undefined;
      if (leftMs === undefined || nowMs + leftMs > endsMs) throw error;
      endsMs = nowMs + leftMs;
    }
    await clock.sleep(lookEveryMs, new AbortController().signal); // no longer than one lease
  }
}

interface OpenedFile {
  readonly file: KeptFile;
  readonly damage: Damage | undefined;
  readonly lostKeys?: ReadonlySet<string>;
}

function openFile(sqlite: typeof Sqlite, options: SqliteLogOptions, nowMs: number): OpenedFile {
  const { path, events } = options;
  try {
    return openHeld(sqlite, options, nowMs);
  } catch (why) {
    if (!isMillraceError(why) || !isUnwritable(why.cause)) throw why;
    const readable = attempt(
      () =>
        new ReadableFile({
          path,
          why,
          openToRead: () => openToRead(sqlite, path),
          openToWrite: () => {
            const { file, damage } = openHeld(sqlite, options, options.clock.now());
            if (damage !== undefined) events?.emit("store_damaged", damage);
            return file;
          },
        }),
    );
    if (readable === undefined) throw why;
    const { lostKeys } = readable;
    const damage = lostKeys && { copy: undefined, lostKeys: lostKeys.size };
    return { file: readable, damage, ...(lostKeys && { lostKeys }) };
  }
}

function openHeld(
  sqlite: typeof Sqlite,
  { path, maxPages, openTimeoutMs, ownerIsGone, events }: SqliteLogOptions,
  nowMs: number,
): OpenedFile {
  const { database, reopen, damage } = openDatabase(sqlite, { path, nowMs, openTimeoutMs, ownerIsGone });
  const limited = (opened: DatabaseSync) => {
    if (maxPages !== undefined) opened.exec(`PRAGMA max_page_count = ${Math.trunc(maxPages)}`);
    return opened;
  };
  const file = new HeldFile({
    path,
    database: limited(database),
    reopen: () => limited(reopen()),
    ...(events && { events }),
  });
  return { file, damage };
}

/** Undefined where it cannot be read either. */
function attempt(open: () => ReadableFile): ReadableFile | undefined {
  try {
    return open();
  } catch (error) {
    if (isMillraceError(error)) throw error;
    return undefined;
  }
}
