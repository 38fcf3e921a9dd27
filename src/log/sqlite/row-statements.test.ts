import { expect, it } from "vitest";
import { loadSqlite } from "../../base/node/load-sqlite.ts";
import { bytes, insert } from "../rows.conformance.ts";
import { openFile } from "./open-file.ts";
import { RowStatements } from "./row-statements.ts";

it("deletes the entries of removed rows a part at a time, until none is left", () => {
  const database = openFile(loadSqlite(), { path: ":memory:" });
  const statements = new RowStatements(database);
  const count = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]);
  const [rows, each] = [70, 10]; // more rows, and more entries, than one part takes
  for (let row = 0; row < rows; row++) {
    const entries = Array.from({ length: each }, () => bytes("a"));
    statements.apply([insert(`row ${row}`), { type: "update", id: `row ${row}`, entries }]);
    statements.apply([{ type: "remove", id: `row ${row}` }]);
  }
  expect(count("entries")).toBe(rows * each);
  for (let left = count("entries"), isMore = true; isMore; left = count("entries")) {
    isMore = statements.deleteLeftovers();
    expect(left - count("entries")).toBeLessThanOrEqual(512);
  }
  expect([count("entries"), count("leftovers"), count("heads"), count("tags")]).toEqual([0, 0, 0, 0]);
  database.close();
});
