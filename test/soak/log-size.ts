import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** What the file of a log holds while its gateway runs. */
export interface LogSize {
  /** Requests and answers that can still be read. */
  readonly contentMiB: number;
  /** What a gateway remembers of turns for longer: that they expired (a day), what they used (400 days). */
  readonly rememberedMiB: number;
  /** The whole file with its journal. */
  readonly logMiB: number;
  readonly keptTurns: number;
  readonly erasedTurns: number;
}

/** The tables whose rows go with the retention. */
const ofContent = new Set(["entries", "entries_of_log", "heads"]);
const mib = (bytes: number) => bytes / 2 ** 20;

/** Reads the pages of each table. */
export function logSizeOf(file: string): LogSize {
  using database = new DatabaseSync(file, { readOnly: true });
  const tables = database.prepare("SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name").all();
  const bytesOf = (isContent: boolean) =>
    tables
      .filter(({ name }) => ofContent.has(String(name)) === isContent)
      .reduce((sum, { bytes }) => sum + Number(bytes), 0);
  const counted = database
    .prepare("SELECT sum(kind = 'turn') AS kept, sum(kind = 'tombstone') AS erased FROM logs")
    .get() as {
    readonly kept: number;
    readonly erased: number;
  }; // as the query names them
  const files = [file, `${file}-wal`].map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  return {
    contentMiB: mib(bytesOf(true)),
    rememberedMiB: mib(bytesOf(false)),
    logMiB: mib(files.reduce((sum, size) => sum + size, 0)),
    keptTurns: counted.kept,
    erasedTurns: counted.erased,
  };
}
