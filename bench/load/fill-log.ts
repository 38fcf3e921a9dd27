import { DatabaseSync } from "node:sqlite";

/** Columns of `turns` that are another one in each copy. */
const changed: Readonly<Record<string, string>> = {
  number: "NULL",
  turn_id: "'turn_' || upper(hex(randomblob(13)))",
  key_index: "hex(randomblob(16))",
  match_index: "hex(randomblob(16))",
  session_index: "NULL",
};

/** Copies an ended turn of a gateway's log, with its events, until there are so many turns. The gateway must not run. */
export function fillLog(path: string, turns: number): void {
  const database = new DatabaseSync(path);
  try {
    const columnsOf = (table: string) =>
      database
        .prepare(`SELECT name FROM pragma_table_info('${table}')`)
        .all()
        .map(({ name }) => String(name));
    const { number: original, last_seq: events } = database
      .prepare("SELECT number, last_seq FROM turns WHERE outcome IS NOT NULL ORDER BY created_at_ms LIMIT 1")
      .get() as { readonly number: number; readonly last_seq: number }; // columns that are never null
    const names = columnsOf("turns");
    const { held } = database.prepare("SELECT count(*) AS held FROM turns").get() as { readonly held: number };
    const copies = "WITH RECURSIVE copy (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < ?)";
    const values = names.map((name) => changed[name] ?? name).join(", ");
    database.exec("BEGIN");
    database
      .prepare(`INSERT INTO turns (${names.join(", ")}) ${copies} SELECT ${values} FROM copy, turns WHERE number = ?`)
      .run(Math.max(1, turns - held), original);
    for (const table of ["headers", "events"]) {
      const rest = columnsOf(table).filter((name) => name !== "turn");
      const joined = rest.map((name) => `original.${name}`).join(", ");
      database
        .prepare(`INSERT INTO ${table} (turn, ${rest.join(", ")}) SELECT number, ${joined}
          FROM turns JOIN ${table} AS original ON original.turn = ?
          WHERE NOT EXISTS (SELECT 1 FROM ${table} AS own WHERE own.turn = number) AND turns.last_seq = ?`)
        .run(original, events);
    }
    database.exec("COMMIT");
  } finally {
    database.close();
  }
}
