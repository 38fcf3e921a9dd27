import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { isMillraceError } from "../../base/errors.ts";
import { loadSqlite } from "./load-sqlite.ts";
import { checkPages, refuseEmptied, versionOf } from "./open-file.ts";
import { isDamaged } from "./sqlite-errors.ts";

/** The state of a log's file, found without opening it as a log: nothing is created, repaired or moved. `why` is in words. */
export type LogFileState =
  | { readonly kind: "missing" }
  | { readonly kind: "damaged" | "foreign" | "unreadable"; readonly bytes: number; readonly why: string }
  | { readonly kind: "sound"; readonly bytes: number; readonly turns: number; readonly openTurns: number };

const lockTimeoutMs = 1_000;

/** Looks at the file with its companions (`-wal`, `-shm`), and lets SQLite check every page of it. */
export async function inspectLogFile(path: string): Promise<LogFileState> {
  const sizes = [path, `${path}-wal`, `${path}-shm`].map((each) => statSync(each, { throwIfNoEntry: false })?.size);
  if (sizes[0] === undefined) return { kind: "missing" };
  const bytes = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  const { DatabaseSync: Database } = await loadSqlite();
  let database: DatabaseSync | undefined;
  try {
    refuseEmptied(path);
    if (sizes[0] === 0) return { kind: "sound", bytes, turns: 0, openTurns: 0 }; // made, but never written to
    database = new Database(path, { readOnly: true, timeout: lockTimeoutMs });
    const version = versionOf(database);
    checkPages(database);
    const turns = version === 0 ? undefined : database.prepare(countTurns).get();
    return { kind: "sound", bytes, turns: Number(turns?.["turns"] ?? 0), openTurns: Number(turns?.["open"] ?? 0) };
  } catch (error) {
    if (isMillraceError(error)) return { kind: "foreign", bytes, why: error.message };
    if (isDamaged(error)) return { kind: "damaged", bytes, why: "its pages make no sense" };
    const { errcode } = error as { readonly errcode?: number }; // SQLite's code, on its errors
    return { kind: "unreadable", bytes, why: `SQLite code ${errcode ?? "unknown"}` };
  } finally {
    database?.close();
  }
}

const countTurns = "SELECT count(*) AS turns, coalesce(sum(open), 0) AS open FROM logs WHERE kind = 'turn'";
