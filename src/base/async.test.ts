import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { deadline, orAborted, timeLimit } from "./async.ts";

test("a deadline ends a wait, also where memory was collected meanwhile", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // V8's own, by that flag
  const { signal } = new AbortController();
  const never = new Promise<never>(() => {});
  const waits = [
    deadline(signal, 300),
    AbortSignal.any([signal, timeLimit(300)]),
    deadline(deadline(signal, 60_000), 300),
  ];
  const ends = waits.map((limit) => orAborted(never, limit).catch(String));
  for (let at = 0; at < 5; at++) {
    await nextTurn();
    collect();
  }
  const late = expect.stringContaining("TimeoutError");
  expect(await Promise.all(ends)).toEqual([late, late, late]);
});
