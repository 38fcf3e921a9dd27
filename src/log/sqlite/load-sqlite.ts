import type * as Sqlite from "node:sqlite";

/** `node:sqlite`, without the warning that Node 22 prints for it; every other warning passes. Loaded when first needed. */
export async function loadSqlite(): Promise<typeof Sqlite> {
  const emit: unknown = Reflect.get(process, "emitWarning");
  const quiet = (warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes("SQLite is an experimental feature")) return;
    if (typeof emit === "function") Reflect.apply(emit, process, [warning, ...rest]);
  };
  process.emitWarning = quiet;
  try {
    return await import("node:sqlite");
  } finally {
    Reflect.set(process, "emitWarning", emit);
  }
}
