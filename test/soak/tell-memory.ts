import { renameSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

/**
 * Loaded into a gateway before its own code (`--import`): at each SIGUSR2 the process collects its garbage and writes what is
 * left to the file that `MILLRACE_TEST_MEMORY_FILE` names. Only what is left after a collection can be compared.
 */
const file = process.env["MILLRACE_TEST_MEMORY_FILE"];
if (file !== undefined && isMainThread) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // the flag above makes it one
  let nth = 0;
  process.on("SIGUSR2", () => {
    collect();
    setImmediate(() => {
      collect(); // what finalizers let go of
      const { heapUsed, external } = process.memoryUsage();
      const handles = process.getActiveResourcesInfo().filter((type) => type !== "TCPSocketWrap").length; // sockets are counted on their own
      const told = { nth: ++nth, heapBytes: heapUsed + external, handles };
      writeFileSync(`${file}.new`, JSON.stringify(told));
      renameSync(`${file}.new`, file);
    });
  });
}
