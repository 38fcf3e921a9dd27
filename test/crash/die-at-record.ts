import * as files from "node:fs/promises";
import { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

/**
 * Loaded into an application before its own code (`--import`): kills the process, as `kill -9` does, at the nth step with
 * which it keeps its record: a file that is flushed, or put in the place of another one. `MILLRACE_TEST_DIE_AT` is
 * `before:5` or `after:5`.
 */
const [moment, at] = (process.env["MILLRACE_TEST_DIE_AT"] ?? "never:0").split(":");
const deadly = Number(at);
let count = 0;

type Step = (...parameters: unknown[]) => Promise<unknown>;

function counted(step: Step): Step {
  return async function countedStep(this: unknown, ...parameters) {
    count++;
    const isLast = count === deadly;
    if (moment === "before" && isLast) process.kill(process.pid, "SIGKILL");
    const result = await step.apply(this, parameters);
    if (moment === "after" && isLast) process.kill(process.pid, "SIGKILL");
    return result;
  };
}

const probe = await open(import.meta.filename, "r");
const handle = Object.getPrototypeOf(probe) as { sync: Step };
await probe.close();
handle.sync = counted(handle.sync);
const exported = (files as unknown as { default: { rename: Step } }).default; // what `import { rename }` is made from
exported.rename = counted(exported.rename);
syncBuiltinESMExports();
