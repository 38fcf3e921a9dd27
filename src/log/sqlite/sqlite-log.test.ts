import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeLogStore } from "../store.conformance.ts";
import { openSqliteLog } from "./open-sqlite-log.ts";

describeLogStore("sqlite", { survivesRestart: true, sharedBetweenProcesses: true }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-log-"));
  return {
    open: async (clock) => (await openSqliteLog({ path: join(folder, "log.db"), clock })).store,
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});
