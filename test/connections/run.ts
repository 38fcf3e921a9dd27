import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mayTrace } from "../power/trace.ts";
import { say, table } from "../support/long-suite.ts";
import { dialsOfTrace, foreign } from "./dials.ts";
import { hasNetworks, ownNetwork, tracing } from "./own-network.ts";

/**
 * `npm test -- search network`: runs the end-to-end tests in a network that has nothing but its loopback, traces every process, and lists
 * every address that was dialled, also in vain. Exits 1 if one is no loopback address, or a test fails. Arguments are those of Vitest,
 * such as the name of a file.
 */
if (!mayTrace)
  throw new Error("System calls cannot be recorded here: install strace, and run where tracing is allowed.");
if (!hasNetworks)
  throw new Error("No network namespace can be made here: run it on Linux, as root or with user namespaces.");

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "millrace-network-"));
try {
  const tests = [join(root, "scripts/run.mjs"), "vitest", "run", "--project", "e2e", ...process.argv.slice(2)];
  const [program = "", ...args] = [...ownNetwork, ...tracing(join(folder, "dials")), process.execPath, ...tests];
  const [code] = (await once(spawn(program, args, { stdio: "inherit", cwd: root }), "exit")) as [number | null];
  const dials = readdirSync(folder).flatMap((name) => dialsOfTrace(readFileSync(join(folder, name), "utf8")));
  const counts = Map.groupBy(dials, ({ kind, what }) => `${kind} ${kind === "tcp" ? what.replace(/:\d+$/, "") : what}`);
  const rows = [...counts].map(([address, { length }]) => [address, String(length)]);
  say(
    table(
      ["dialled", "times"],
      rows.toSorted(([a = ""], [b = ""]) => a.localeCompare(b)),
    ),
  );
  const elsewhere = foreign(dials);
  for (const { kind, what } of elsewhere) say(`elsewhere: ${kind} ${what}`);
  say(`${dials.length} dials, ${elsewhere.length} of them elsewhere than to this machine`);
  process.exitCode = code === 0 && dials.length > 0 && elsewhere.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
