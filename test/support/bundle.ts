import { join } from "node:path";
import { testBundle } from "../../scripts/bundle/test-bundle.ts";

/** Before the tests of a run: the bundle of the programs that they start. Every worker is told where it is. */
export default async function setup(): Promise<void> {
  const folder = await testBundle();
  process.env["MILLRACE_TEST_BUNDLE"] = folder;
  process.env["MILLRACE_SIMULATED_SERVER"] = join(folder, "simulated-server.js");
  process.env["MILLRACE_SIMULATED_AGENT"] = join(folder, "simulated-agent.js");
}
