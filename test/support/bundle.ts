import { join } from "node:path";
import type { Plugin } from "vite";
import type { TestProject, VitestPluginContext } from "vitest/node";
import { testBundle, testBundleFolder } from "../../scripts/bundle/test-bundle.ts";

/** Before the tests of a run: every worker is told where the bundle of the programs is. A watched run starts the sources, which change. */
export default function setup(project?: TestProject): void {
  if (project?.config.watch === true || process.env["MILLRACE_TEST_BUNDLE"] !== undefined) return;
  const folder = testBundleFolder();
  process.env["MILLRACE_TEST_BUNDLE"] = folder;
  process.env["MILLRACE_SIMULATED_SERVER"] = join(folder, "simulated-server.js");
  process.env["MILLRACE_SIMULATED_AGENT"] = join(folder, "simulated-agent.js");
}

/** Whether a module starts a program of the bundle: these read where it is. */
const startsPrograms = (code: string) => /MILLRACE_(TEST_BUNDLE|SIMULATED_)/.test(code);

let built: Promise<string> | undefined;

/** Builds the programs when a test first loads a module that starts them: a run of pure functions builds nothing. */
export const bundleWhenStarted: Plugin & { readonly configureVitest: (context: VitestPluginContext) => void } = {
  name: "bundle-when-started",
  async transform(code) {
    const folder = process.env["MILLRACE_TEST_BUNDLE"];
    if (folder !== undefined && startsPrograms(code)) await (built ??= testBundle(folder));
  },
  // what comes from Vitest's cache of transformed modules is not transformed
  configureVitest: ({ defineCacheKeyGenerator }) =>
    defineCacheKeyGenerator(({ sourceCode }) => (startsPrograms(sourceCode) ? false : undefined)),
};
