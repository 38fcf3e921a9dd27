import type { DatabaseSync } from "node:sqlite";

/** How long the agent is waited for that writes at this moment; ms. The gateway stands still meanwhile. */
const busyMs = 50;

/**
 * Deletes the rows of a session from a database of its agent: those that have the session's id in a column that is named as an id. Columns without an
 * index are left alone, as a database may be large. What was deleted is overwritten, also in the database's log.
 *
 * @throws as SQLite does, also where the agent is busy with it, and where the runtime has no SQLite.
 */
export async function deleteSessionRows(file: string, id: string): Promise<void> {
  const { DatabaseSync } = await import("node:sqlite"); // not every runtime has it
  const database = new DatabaseSync(file, { timeout: busyMs, enableForeignKeyConstraints: false });
  try {
    database.exec("PRAGMA secure_delete = ON; BEGIN IMMEDIATE");
    for (const { name, column } of columnsWithIndex(database))
      database.prepare(`DELETE FROM ${quoted(name)} WHERE ${quoted(column)} = ?`).run(id);
    database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
}

const indexed = `
  SELECT DISTINCT t.name AS name, c.name AS "column"
  FROM sqlite_schema AS t JOIN pragma_index_list(t.name) AS i JOIN pragma_index_info(i.name) AS c
  WHERE t.type = 'table' AND c.seqno = 0 AND (c.name = 'id' OR c.name LIKE '%\\_id' ESCAPE '\\')`;

function columnsWithIndex(database: DatabaseSync): readonly { readonly name: string; readonly column: string }[] {
  return database.prepare(indexed).all() as unknown as readonly { name: string; column: string }[]; // as the query names them
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
