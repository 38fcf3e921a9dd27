import { expect, test } from "vitest";
import { sharedCheck } from "./shared-check.ts";

/** A check that a test ends; `running` counts those that run at the same time. */
function slowCheck() {
  const ends: ((answer: string | Error) => void)[] = [];
  let [running, most] = [0, 0];
  const shared = sharedCheck(async () => {
    most = Math.max(most, ++running);
    const answer = await new Promise<string | Error>((resolve) => ends.push(resolve));
    running--;
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  return { shared, ends, turn, most: () => most };
}

test("callers of one moment share a check, and one that comes while it runs gets the answer of the next", async () => {
  const { shared, ends, turn, most } = slowCheck();
  const first = [shared(), shared()];
  await turn();
  const late = [shared(), shared()];
  await turn();
  expect(ends).toHaveLength(1);
  ends[0]?.("first");
  expect(await Promise.all(first)).toEqual(["first", "first"]);
  await turn();
  expect(ends).toHaveLength(2);
  ends[1]?.("second");
  expect(await Promise.all(late)).toEqual(["second", "second"]);
  expect(most()).toBe(1);
});

test("a check that failed is told to its callers, and the next one begins all the same", async () => {
  const { shared, ends, turn } = slowCheck();
  const failed = shared();
  await turn();
  const late = shared();
  ends[0]?.(new Error("gone"));
  await expect(failed).rejects.toThrow("gone");
  await turn();
  ends[1]?.("there");
  expect(await late).toBe("there");
});
