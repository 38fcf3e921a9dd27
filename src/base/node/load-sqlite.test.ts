import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { idle } from "../wait.fake.ts";
import { loadSqlite } from "./load-sqlite.ts";

test("a database that nobody names any more stays while a statement of it is used, until it is closed", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { DatabaseSync } = loadSqlite();
  const open = (): readonly [
    statement: ReturnType<InstanceType<typeof DatabaseSync>["prepare"]>,
    close: () => void,
  ] => {
    const database = new WeakRef(new DatabaseSync(":memory:"));
    const statement = database.deref()?.prepare("SELECT 1 AS one");
    if (statement === undefined) throw new Error("collected at once");
    return [statement, () => database.deref()?.close()];
  };
  const [statement, close] = open();
  for (let round = 0; round < 3; round++) {
    await idle();
    collect();
  }
  expect(statement.get()).toEqual({ one: 1 });
  close();
  expect(() => statement.get()).toThrow(/finalized/);
});
