import { stat } from "node:fs/promises";
import { readCommitNote } from "./commit-note.ts";
import { isBehind } from "./damage.ts";
import { loadSqlite } from "./load-sqlite.ts";
import { applicationId } from "./schema.ts";

/** The state of a log's file, found without opening it as a log: nothing is created, repaired or moved. */
export type LogFileState =
  | { readonly kind: "missing" }
  | { readonly kind: "damaged" | "foreign" | "unreadable"; readonly bytes: number; readonly why: string }
  | { readonly kind: "sound"; readonly bytes: number; readonly turns: number; readonly openTurns: number };

const lockTimeoutMs = 1_000;

/** Looks at the file with its companions (`-wal`, `-shm`), and lets SQLite check every page of it. */
export async function inspectSqliteLog(path: string): Promise<LogFileState> {
  const sizes = await Promise.all([path, `${path}-wal`, `${path}-shm`].map(sizeOf));
  if (sizes[0] === undefined) return { kind: "missing" };
  const bytes = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  const note = readCommitNote(path);
  if (sizes[0] === 0 && (note?.commits ?? 0) > 0) return { kind: "damaged", bytes, why: "it was emptied" };
  if (sizes[0] === 0) return { kind: "sound", bytes, turns: 0, openTurns: 0 }; // made, but never written to
  const { DatabaseSync } = await loadSqlite();
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: lockTimeoutMs });
    try {
      const numberOf = (sql: string, column: string) => Number(database.prepare(sql).get()?.[column] ?? 0);
      if (note !== undefined && sizes[1] !== undefined && isBehind(database, note)) {
        return { kind: "damaged", bytes, why: "its last commits cannot be read" };
      }
      if (numberOf("PRAGMA application_id", "application_id") !== applicationId) {
        return { kind: "foreign", bytes, why: "belongs to another program" };
      }
      const check = database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
      if (check !== "ok") return { kind: "damaged", bytes, why: String(check) };
      // Only the usage history has been in it: no gateway ever ran here.
      if (numberOf("PRAGMA user_version", "user_version") === 0)
        return { kind: "sound", bytes, turns: 0, openTurns: 0 };
      const turns = numberOf("SELECT count(*) AS n FROM turns", "n");
      return {
        kind: "sound",
        bytes,
        turns,
        openTurns: numberOf("SELECT count(*) AS n FROM turns WHERE outcome IS NULL", "n"),
      };
    } finally {
      database.close();
    }
  } catch (error) {
    const { errcode } = error as { readonly errcode?: number }; // SQLite's code, on its errors
    const damaged = ((errcode ?? 0) & 0xff) === 11 || ((errcode ?? 0) & 0xff) === 26; // CORRUPT, NOTADB
    return {
      kind: damaged ? "damaged" : "unreadable",
      bytes,
      why: damaged ? "its pages make no sense" : `SQLite code ${errcode ?? "unknown"}`,
    };
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined, // not there
  );
}
