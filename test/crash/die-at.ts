import { StatementSync } from "node:sqlite";

/**
 * Loaded into a gateway before its own code (`--import`): kills the process, as `kill -9` does, at the nth write that it makes
 * to any SQLite file. `MILLRACE_TEST_DIE_AT` is `before:17` or `after:17`; a write is a statement that changes something, or
 * a COMMIT. What the process knows and has not written is lost; what it wrote half is for SQLite to roll back.
 */
const [moment, at] = (process.env["MILLRACE_TEST_DIE_AT"] ?? "never:0").split(":");
const deadly = Number(at);
const writes = /^\s*(?:INSERT|UPDATE|DELETE|REPLACE|COMMIT)/i;
let count = 0;

const statement = StatementSync.prototype as { run: (...parameters: unknown[]) => unknown }; // any parameters, passed on
const { run } = statement;
statement.run = function counted(this: StatementSync, ...parameters: unknown[]) {
  if (!writes.test(this.sourceSQL)) return run.apply(this, parameters);
  count++;
  if (moment === "before" && count === deadly) process.kill(process.pid, "SIGKILL");
  const result = run.apply(this, parameters);
  if (moment === "after" && count === deadly) process.kill(process.pid, "SIGKILL");
  return result;
};
process.on("exit", () => process.stderr.write(`writes to the store: ${count}\n`));
