import { join } from "node:path";
import type { Plugin } from "vite";
import type { TestProject } from "vitest/node";
import { testBundle, testBundleFolder } from "../../scripts/bundle/test-bundle.ts";

/** Before the tests of a run: every worker is told where the bundle of the programs is. A watched run starts the sources, which change. */
export default function setup(project?: TestProject): void {
  if (project?.config.watch === true || process.env["MILLRACE_TEST_BUNDLE"] !== undefined) return;
  const folder = testBundleFolder();
  process.env["MILLRACE_TEST_BUNDLE"] = folder;
  process.env["MILLRACE_SIMULATED_SERVER"] = join(folder, "simulated-server.js");
  process.env["MILLRACE_SIMULATED_AGENT"] = join(folder, "simulated-agent.js");
}

/** The modules that start a program of the bundle. */
const starters = /\/(simulator\/(server-process|acp\/desk\/install-agent)|test\/support\/gateway-process)\.ts$/;

let built: Promise<string> | undefined;

/** Builds the programs when a test first loads a module that starts them: a run of pure functions builds nothing. */
export const bundleWhenStarted: Plugin = {
  name: "bundle-when-started",
  async load(id) {
    const folder = process.env["MILLRACE_TEST_BUNDLE"];
    if (folder !== undefined && starters.test(id)) await (built ??= testBundle(folder));
  },
};
