import { open, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type * as sqlite from "node:sqlite";
import { pathToFileURL } from "node:url";
import { loadSqlite } from "../../base/node/load-sqlite.ts";
import { remove } from "../../base/node/move-file.ts";
import { makeTemporaryFolder } from "../../base/node/user.ts";

/** The result of reading `state.vscdb`. A key that the database lacks is absent from the map. */
export type StateRead =
  | { readonly kind: "read"; readonly values: ReadonlyMap<string, string> }
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable"; readonly why: string };

/** How long SQLite itself waits for a lock per attempt, in ms: short, because it waits on the event loop. */
const busyTimeoutMs = 50;
const maxValueBytes = 8 * 1024 * 1024;
/** More rows than this of one beginning are not read. */
const maxRowsOfBeginning = 16;
const cannotOpen = 14; // SQLITE_CANTOPEN
const rollbackMode = 1;
const walMode = 2; // byte 18 of a database header: the file-format write version

/**
 * Reads keys of an IDE's `state.vscdb` while the IDE writes it, one attempt; `busy` asks for another one. `name*` stands for every
 * key that begins with `name`. The file is opened read-only and never copied, since copies of a live database were stale or
 * malformed. No file is left beside it: a cleanly closed WAL database, which no program has open, is read as immutable.
 * Source: docs/dev/wire/processes.md, "Reading a live database".
 */
export async function readStateOnce(
  path: string,
  keys: readonly string[],
): Promise<StateRead | { readonly kind: "busy" }> {
  const form = await formOf(path);
  if (form === "missing") return { kind: "missing" };
  if (form === "other") return { kind: "unreadable", why: "is not a SQLite database" };
  if (form === "forbidden") return { kind: "unreadable", why: "may not be read by this user" };
  const { DatabaseSync: Database } = loadSqlite();
  if (form === "closed-wal") {
    const immutable = `${pathToFileURL(path).href}?mode=ro&immutable=1`;
    const values = attempt(() => query(new Database(immutable, { readOnly: true }), keys));
    const read = !values.ok && values.errcode === cannotOpen ? await queryCopy(path, keys) : values;
    // Valid only if no program opened it meanwhile.
    if ((await formOf(path)) === "closed-wal") return read.ok ? { kind: "read", values: read.value } : failure(read);
  }
  const values = attempt(() => query(new Database(path, { readOnly: true, timeout: busyTimeoutMs }), keys));
  return values.ok ? { kind: "read", values: values.value } : failure(values);
}

type Form = "missing" | "forbidden" | "other" | "rollback" | "open-wal" | "closed-wal";

async function formOf(path: string): Promise<Form> {
  try {
    const info = await stat(path);
    if (!info.isFile()) return "other";
    const file = await open(path, "r");
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(20), 0, 20, 0);
      if (bytesRead < 20 || buffer.toString("latin1", 0, 15) !== "SQLite format 3") return "other";
      if (buffer[18] !== walMode) return "rollback";
    } finally {
      await file.close();
    }
    return (await exists(`${path}-wal`)) ? "open-wal" : "closed-wal";
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code; // fs rejects with nothing else
    return code === "ENOENT" || code === "ENOTDIR" ? "missing" : "forbidden";
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false, // missing or forbidden: SQLite will say more when it opens it
  );
}

function query(database: sqlite.DatabaseSync, keys: readonly string[]): ReadonlyMap<string, string> {
  try {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`); // the option of the same meaning is newer than the oldest Node we take
    const statement = database.prepare("SELECT value FROM ItemTable WHERE key = ? AND length(value) <= ?");
    const values = new Map<string, string>();
    const beginning = database.prepare(
      "SELECT key, value FROM ItemTable WHERE substr(key, 1, ?) = ? AND length(value) <= ? ORDER BY key LIMIT ?",
    );
    const add = (key: unknown, value: unknown) => {
      if (typeof key !== "string") return;
      if (typeof value === "string") values.set(key, value);
      else if (value instanceof Uint8Array) values.set(key, Buffer.from(value).toString("utf8"));
    };
    for (const key of keys) {
      if (!key.endsWith("*")) {
        add(key, statement.get(key, maxValueBytes)?.["value"]);
        continue;
      }
      const start = key.slice(0, -1);
      for (const row of beginning.all(start.length, start, maxValueBytes, maxRowsOfBeginning))
        add(row["key"], row["value"]);
    }
    return values;
  } finally {
    database.close();
  }
}

/**
 * Node before 22.15 cannot open a database as immutable, and would leave `-wal` and `-shm` beside it. So it reads a copy, in a folder that
 * only this user can open, without the mark of a WAL database; the copy is gone when this returns.
 */
async function queryCopy(path: string, keys: readonly string[]): Promise<Attempt<ReadonlyMap<string, string>>> {
  const folder = makeTemporaryFolder("millrace-state-");
  const copy = join(folder, "state.vscdb");
  try {
    const content = await readFile(path);
    content.fill(rollbackMode, 18, 20);
    await writeFile(copy, content, { mode: 0o600 });
    return attempt(() => query(new (loadSqlite().DatabaseSync)(copy, { readOnly: true }), keys));
  } finally {
    await remove(folder, { recursive: true });
  }
}

type Attempt<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errcode: number | undefined; readonly message: string };

function attempt<T>(work: () => T): Attempt<T> {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    const { errcode, message } = error as Error & { errcode?: number }; // node:sqlite throws Errors, with SQLite's code if it is one
    return { ok: false, errcode, message };
  }
}

function failure(failed: { readonly errcode: number | undefined }): StateRead | { readonly kind: "busy" } {
  switch ((failed.errcode ?? 0) & 0xff) {
    case 5: // SQLITE_BUSY
    case 6: // SQLITE_LOCKED
      return { kind: "busy" };
    case 11: // SQLITE_CORRUPT
    case 26: // SQLITE_NOTADB
      return { kind: "unreadable", why: "is damaged" };
    case 8: // SQLITE_READONLY: a journal of a crashed IDE waits to be rolled back
      return { kind: "unreadable", why: "has an unfinished write of a crashed IDE; start the IDE once" };
    default:
      return { kind: "unreadable", why: `could not be read (SQLite code ${failed.errcode ?? "unknown"})` };
  }
}
