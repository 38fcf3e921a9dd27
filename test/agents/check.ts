import process from "node:process";

let failed = 0;

/** How many checks failed so far. */
export function failures(): number {
  return failed;
}

/** Runs a check and prints what became of it; answers whether it held. */
export async function check(sentence: string, run: () => Promise<void>): Promise<boolean> {
  const startedAt = performance.now();
  let failure = "";
  try {
    await run();
  } catch (error) {
    failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    failed++;
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stderr.write(`${(failure === "" ? "ok" : "FAILED").padEnd(7)} ${sentence} ${seconds} s ${failure}\n`);
  return failure === "";
}
