import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { type Project, projects } from "./test/suites.ts";
import { bundleWhenStarted } from "./test/support/bundle.ts";

// What the workers load from node_modules is compiled once, and so is what they start; coverage needs it compiled anew.
if (!process.argv.some((argument) => argument.startsWith("--coverage")))
  process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/millrace-compiled");

const setupFiles = ["test/support/random.ts"];
/** What is waited for comes; how soon depends on how busy the machine is. */
const expect = { poll: { timeout: 100_000 } };

const unit = {
  environment: "node",
  expect,
  isolate: false, // no test leaves state behind; a module graph per file was half of the processor time
  setupFiles,
  testTimeout: 120_000, // some start real processes, and a busy machine takes its time
  hookTimeout: 120_000,
} as const;
const e2e = {
  environment: "node",
  expect,
  testTimeout: 600_000, // five times as long as what they wait for at most
  hookTimeout: 120_000,
} as const;

const part = (name: Project, more: NonNullable<TestProjectInlineConfiguration["test"]>) => ({
  plugins: [bundleWhenStarted],
  test: { name, include: [...projects[name].include], exclude: [...projects[name].exclude], ...more },
});

export default defineConfig({
  test: {
    // Tests with processes wait as much as they work: by default two processors would get one worker.
    maxWorkers: Math.max(3, availableParallelism()),
    retry: Number(process.env["MILLRACE_TEST_RETRY"] ?? 0),
    globalSetup: ["test/support/bundle.ts"],
    projects: [
      part("unit", unit),
      part("slow", { globalSetup: ["test/support/foreign-stand-in.ts"], ...unit }),
      part("main", e2e),
      part("e2e", { globalSetup: ["test/support/foreign-stand-in.ts"], ...e2e }),
      part("faults", e2e),
      part("browser", { globalSetup: ["test/browser/built-dashboard.ts"], ...e2e }),
      part("single-file", e2e),
      part("rehearsal", e2e),
      part("search", { ...e2e, setupFiles }),
    ],
    reporters: ["default", "./scripts/plain-line-reporter.ts"],
    coverage: {
      provider: "v8",
      include: ["{src,simulator}/**/*.ts"],
      exclude: ["src/proto/**", "**/*.test.ts", "**/*.fake.ts", "**/*.conformance.ts"],
    },
  },
});
