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
    return "isTransaction" in sqlite.DatabaseSync.prototype ? sqlite : (held ??= holdingDatabases(sqlite));
  } finally {
    if (descriptor === undefined) Reflect.deleteProperty(process, "emitWarning");
    else Object.defineProperty(process, "emitWarning", descriptor);
  }
}

let held: typeof Sqlite | undefined;

/**
 * Before 22.16, Node frees a database that nobody names any more also while one of its statements runs, which breaks the heap of the process
 * (nodejs/node#56840; `isTransaction` came with the mend). So each stays until it is closed.
 */
function holdingDatabases(sqlite: typeof Sqlite): typeof Sqlite {
  const open = new Set<Sqlite.DatabaseSync>();
  class DatabaseSync extends sqlite.DatabaseSync {
    constructor(...given: ConstructorParameters<typeof Sqlite.DatabaseSync>) {
      super(...given);
      open.add(this);
    }

    override close(): void {
      super.close();
      open.delete(this);
    }
  }
  return { ...sqlite, DatabaseSync };
}
