import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

const module = new URL("small-heap.ts", import.meta.url).href;

/** Bursts of objects that live for a moment, as the answers of many turns are; answers how large the young generation became. */
const burst = `
  import { getHeapSpaceStatistics } from "node:v8";
  import { setImmediate as breath, setTimeout as sleep } from "node:timers/promises";
  const stop = new AbortController();
  if (process.argv[1] === "small") (await import(${JSON.stringify(module)})).keepHeapSmall({ on: () => () => {} }, stop.signal, 1);
  let held = [];
  let most = 0;
  for (let round = 0; round < 64; round++) {
    for (let i = 0; i < 20_000; i++) held.push({ round, text: "delta " + i });
    if (round % 8 === 0) held = [];
    await (round % 4 === 0 ? sleep(2) : breath());
    most = Math.max(most, getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size);
  }
  stop.abort();
  console.log(most / 2 ** 20);
`;

function youngMiB(how: "small" | "as it is"): number {
  return Number(execFileSync(process.execPath, ["--input-type=module", "-e", burst, how], { encoding: "utf8" }));
}

test("the young generation stays small under a burst, where V8 alone would let it grow", () => {
  expect(youngMiB("small")).toBeLessThan(youngMiB("as it is") / 1.5);
});
