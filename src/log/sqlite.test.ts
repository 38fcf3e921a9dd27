import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeRows } from "./rows.conformance.ts";
import { openSqliteRows } from "./sqlite.ts";

describeRows("SQLite in memory", { survivesRestart: false, isShared: false }, async () => ({
  open: () => openSqliteRows({ path: ":memory:" }),
  dispose: async () => {},
}));

describeRows("a SQLite file", { survivesRestart: true, isShared: false }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-rows-"));
  const path = join(folder, "log.db");
  const module = JSON.stringify(new URL("sqlite.ts", import.meta.url).href);
  return {
    open: () => openSqliteRows({ path }),
    elsewhere: `await (await import(${module})).openSqliteRows({ path: ${JSON.stringify(path)} })`,
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});
