import { agentChecks } from "./agent.ts";
import { clientChecks } from "./clients.ts";
import { diskChecks } from "./disks.ts";
import { everydayChecks } from "./everyday.ts";
import { fileChecks } from "./files.ts";
import { heldFileChecks } from "./held.ts";
import { powerShellChecks } from "./powershell.ts";
import { endOthers, install, progress, Skip } from "./product.ts";

/**
 * `run.ts TARBALL [EXPRESSION]`: each check says one behaviour, and the regular expression chooses by it. `--few` runs only those that another version of Node might break. Runs on Windows, or
 * under Wine; imports nothing but Node and what it installs.
 */
export type Checks = Readonly<Record<string, () => Promise<void>>>;

/** The most that a check may take; a hang fails by name, and the rest goes on. */
const limitMs = 240_000;
const few = ["demo --once", "everyday commands", "each of ten gateways"];

const [tarball = "", word = ""] = process.argv.slice(2);
const isChosen = (sentence: string) =>
  word === "--few" ? few.some((each) => sentence.includes(each)) : new RegExp(word).test(sentence);
const say = (line: string) => process.stdout.write(`${line}\n`);
const counts = { passed: 0, failed: 0, skipped: 0 };
say(`Node ${process.version} on ${process.platform}`);
await install(tarball);
const all = {
  ...everydayChecks,
  ...clientChecks,
  ...heldFileChecks,
  ...agentChecks,
  ...fileChecks,
  ...diskChecks,
  ...powerShellChecks,
};
for (const [sentence, run] of Object.entries(all)) {
  if (!isChosen(sentence)) continue;
  const started = performance.now();
  progress.at = "";
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`did not end within ${limitMs / 1000} s ${progress.at}`)), limitMs);
  });
  try {
    await Promise.race([run(), late]);
    counts.passed++;
    say(`ok      ${sentence} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  } catch (error) {
    if (error instanceof Skip) {
      counts.skipped++;
      say(`skipped ${sentence}: ${error.message}`);
    } else {
      counts.failed++;
      say(`FAILED  ${sentence}\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  } finally {
    clearTimeout(timer);
    endOthers();
  }
}
say(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed > 0 ? 1 : 0);
