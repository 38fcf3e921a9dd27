import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

// What the workers load from node_modules is compiled once, and so is what they start; coverage needs it compiled anew.
if (!process.argv.some((argument) => argument.startsWith("--coverage")))
  process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/millrace-compiled");

const setupFiles = ["test/support/random.ts"];
/** What is waited for comes; how soon depends on how busy the machine is. */
const expect = { poll: { timeout: 100_000 } };

/** Unit tests that took more than two seconds each on a quiet machine: real processes, whole conformance suites. `npm test` leaves them to `npm test -- all`. */
export const slow: readonly string[] = [
  "scripts/bundle/bundle.test.ts",
  "scripts/public-api.test.ts",
  "simulator/devin.test.ts",
  "simulator/faults.test.ts",
  "simulator/rules.test.ts",
  "simulator/start.test.ts",
  "src/backends/acp/backend.test.ts",
  "src/backends/acp/wire/door.test.ts",
  "src/backends/acp/relay/relay.test.ts",
  "src/backends/backend.test.ts",
  "src/backends/behaviours.test.ts",
  "src/cli/commands/completion.test.ts",
  "src/cli/commands/doctor.test.ts",
  "src/cli/commands/setup-without-ide.test.ts",
  "src/cli/commands/setup.test.ts",
  "src/cli/serve/port-holder.test.ts",
  "src/cli/gateway-process/small-heap.test.ts",
  "src/client/lossy.test.ts",
  "src/client/stream/stream.test.ts",
  "src/gateway/http/connection-limits.test.ts",
  "src/gateway/streams/idempotent.test.ts",
  "src/gateway/streams/interleavings.test.ts",
  "src/gateway/streams/rpc/rpc-server.test.ts",
  "src/ide/apps/devin-desktop.test.ts",
  "src/ide/apps/layouts.linux.test.ts",
  "src/ide/discover/discover.linux.test.ts",
  "src/ide/discover/systems.test.ts",
  "src/ide/host/host.test.ts",
  "src/language-server/simulator.test.ts",
  "src/language-server/transport/open-transport.test.ts",
  "src/log/live.test.ts",
  "src/log/redis.test.ts",
  "src/log/sqlite.test.ts",
  "src/log/sqlite/sqlite-file.test.ts",
  "src/schema/read-schema.test.ts",
  "src/turns/grace.test.ts",
  "src/turns/open-turns-restart.test.ts",
  "src/turns/tools/emissions.test.ts",
];
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
          exclude: ["{src,simulator}/**/*.faults.test.ts", ...slow],
          ...unit,
        },
      },
      { test: { name: "slow", globalSetup: ["test/support/foreign-stand-in.ts"], include: [...slow], ...unit } },
      // The main job end to end, for the run that comes between two edits; `e2e` has it too.
      { test: { name: "main", include: ["test/e2e/main-job.test.ts"], ...e2e } },
      {
        test: {
          name: "e2e",
          globalSetup: ["test/support/foreign-stand-in.ts"],
          include: ["test/e2e/**/*.test.ts"],
          ...e2e,
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
