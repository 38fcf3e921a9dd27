import { existsSync, globSync } from "node:fs";
import { join, matchesGlob, relative, resolve } from "node:path";

const root = join(import.meta.dirname, "..");

/** Unit tests that took more than two seconds each on a quiet machine: real processes, whole conformance suites. `npm test` leaves them to `npm test -- all`. */
const slow: readonly string[] = [
  "scripts/bundle/bundle.test.ts",
  "scripts/install/install.test.ts",
  "scripts/api-report.test.ts",
  "scripts/mutants.test.ts",
  "simulator/antigravity.test.ts",
  "simulator/devin.test.ts",
  "simulator/faults.test.ts",
  "simulator/rules.test.ts",
  "simulator/start.test.ts",
  "simulator/wire.test.ts",
  "src/backends/acp/backend.test.ts",
  "src/backends/acp/relay/relay.test.ts",
  "src/backends/backend.test.ts",
  "src/backends/behaviours.test.ts",
  "src/cli/commands/completion.test.ts",
  "src/cli/commands/doctor.test.ts",
  "src/cli/commands/run.test.ts",
  "src/cli/commands/setup-without-ide.test.ts",
  "src/cli/compile-cache.test.ts",
  "src/client/lossy.test.ts",
  "src/client/stream/stream.test.ts",
  "src/gateway/pdf/pdf-parts.test.ts",
  "src/gateway/streams/idempotent.test.ts",
  "src/gateway/streams/interleavings.test.ts",
  "src/ide/apps/devin-desktop.test.ts",
  "src/ide/apps/layouts.linux.test.ts",
  "src/ide/discover/discover.linux.test.ts",
  "src/ide/discover/systems.test.ts",
  "src/ide/host/host.test.ts",
  "src/ide/process/shared-port.linux.test.ts",
  "src/ide/windows/scripts.test.ts",
  "src/language-server/simulator.test.ts",
  "src/language-server/transport/open-transport.test.ts",
  "src/log/redis.test.ts",
  "src/log/sqlite/sqlite-file.test.ts",
  "src/schema/simulator.test.ts",
  "src/usage/report-thread.test.ts",
];

/** The projects of Vitest, and which files each has. `main` is the main job end to end, for the run between two edits; `e2e` has it too. */
export const projects = {
  unit: {
    include: ["{src,simulator}/**/*.test.ts", "scripts/**/*.test.ts", "web/src/**/*.test.ts"],
    exclude: ["{src,simulator}/**/*.faults.test.ts", ...slow],
  },
  slow: { include: [...slow], exclude: [] },
  e2e: { include: ["test/e2e/**/*.test.ts"], exclude: [] },
  main: { include: ["test/e2e/main-job.test.ts"], exclude: [] },
  faults: { include: ["test/faults/**/*.test.ts", "{src,simulator}/**/*.faults.test.ts"], exclude: [] },
  browser: { include: ["test/browser/**/*.test.ts"], exclude: [] },
  "single-file": { include: ["test/single-file/**/*.test.ts"], exclude: [] },
  rehearsal: { include: ["test/release/**/*.test.ts"], exclude: [] },
  search: { include: ["test/model/**/*.test.ts"], exclude: [] },
} as const;

export type Project = keyof typeof projects;

/** The projects that have a test file with one of these words in its path, as Vitest understands them. A file of two projects runs once. */
export function projectsOf(words: readonly string[]): readonly Project[] {
  const parts = words.filter((word) => !word.startsWith("-")).map((word) => relative(root, resolve(root, word)));
  const files = parts.flatMap((part) =>
    part.endsWith(".test.ts") ? [part] : allFiles().filter((file) => file.includes(part)),
  );
  const names = (Object.keys(projects) as Project[]).filter((name) => name !== "main"); // the keys of a constant
  return names.filter((name) => files.some((file) => isIn(file, name)));
}

function isIn(file: string, name: Project): boolean {
  const matches = (pattern: string) => matchesGlob(file, pattern);
  return existsSync(join(root, file)) && projects[name].include.some(matches) && !projects[name].exclude.some(matches);
}

const allFiles = () => globSync("{src,simulator,scripts,web,test}/**/*.test.ts", { cwd: root });
