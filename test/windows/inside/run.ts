import { agentChecks } from "./agent.ts";
import { everydayChecks } from "./everyday.ts";
import { fileChecks } from "./files.ts";
import { install } from "./product.ts";

/** `run.ts TARBALL [WORD]`: each check says one behaviour. Runs on Windows, or under Wine; imports nothing but Node and what it installs. */
export type Checks = Readonly<Record<string, () => Promise<void>>>;

const [tarball = "", word = ""] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);
const counts = { passed: 0, failed: 0 };
say(`Node ${process.version} on ${process.platform}`);
await install(tarball);
for (const [sentence, run] of Object.entries({ ...everydayChecks, ...agentChecks, ...fileChecks })) {
  if (!sentence.includes(word)) continue;
  const started = performance.now();
  try {
    await run();
    counts.passed++;
    say(`ok      ${sentence} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  } catch (error) {
    counts.failed++;
    say(`FAILED  ${sentence}\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
}
say(`\n${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed > 0 ? 1 : 0);
