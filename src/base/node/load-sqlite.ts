import type * as Sqlite from "node:sqlite";

/**
 * Loads `node:sqlite` when it is first needed: on Node 22 without the warning that it is experimental, and with every other warning.
 * Loading is synchronous, so nothing else can warn in between.
 *
 * @throws Error where the runtime has no SQLite.
 */
export function loadSqlite(): typeof Sqlite {
  const descriptor = Object.getOwnPropertyDescriptor(process, "emitWarning");
  const emit = process.emitWarning.bind(process) as (...all: unknown[]) => void; // handed on as they come
  process.emitWarning = (...all: unknown[]) => {
    if (!String(all[0]).includes("SQLite is an experimental feature")) emit(...all);
  };
  try {
    const sqlite: typeof Sqlite | undefined = process.getBuiltinModule("node:sqlite"); // not every runtime has it
    if (sqlite === undefined) throw new Error("This runtime has no SQLite.");
    return sqlite;
  } finally {
    if (descriptor === undefined) Reflect.deleteProperty(process, "emitWarning");
    else Object.defineProperty(process, "emitWarning", descriptor);
  }
}
