import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

// What the workers load from node_modules is compiled once, and so is what they start; coverage needs it compiled anew.
if (!process.argv.some((argument) => argument.startsWith("--coverage")))
  process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/millrace-compiled");

const setupFiles = ["test/support/random.ts"];
/** What is waited for comes; how soon depends on how busy the machine is. */
const expect = { poll: { timeout: 100_000 } };

export default defineConfig({
  test: {
    // Tests with processes wait as much as they work: by default two processors would get one worker.
    maxWorkers: Math.max(3, availableParallelism()),
    globalSetup: ["test/support/bundle.ts"],
    projects: [
      {
        test: {
          name: "unit",
          include: ["{src,simulator}/**/*.test.ts", "scripts/**/*.test.ts", "web/src/**/*.test.ts"],
          exclude: ["{src,simulator}/**/*.faults.test.ts"],
          environment: "node",
          expect,
          isolate: false, // no test leaves state behind; a module graph per file was half of the processor time
          setupFiles,
          testTimeout: 120_000, // some start real processes, and a busy machine takes its time
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "e2e",
          globalSetup: ["test/support/foreign-stand-in.ts"],
          include: ["test/e2e/**/*.test.ts"],
          environment: "node",
          expect,
          testTimeout: 600_000, // five times as long as what they wait for at most
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "faults",
          include: ["test/faults/**/*.test.ts", "{src,simulator}/**/*.faults.test.ts"],
          environment: "node",
          expect,
          testTimeout: 600_000, // five times as long as what they wait for at most
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          environment: "node",
          expect,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "search",
          include: ["test/model/**/*.test.ts"],
          environment: "node",
          expect,
          setupFiles,
          testTimeout: 600_000,
        },
      },
    ],
    reporters: ["default", "./scripts/plain-line-reporter.ts"],
    coverage: {
      provider: "v8",
      include: ["{src,simulator}/**/*.ts"],
      exclude: ["src/proto/**", "**/*.test.ts", "**/*.fake.ts", "**/*.conformance.ts"],
    },
  },
});
