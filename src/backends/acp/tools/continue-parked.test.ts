import { expect, test } from "vitest";
import { continueParked } from "./continue-parked.ts";

const waits = { isRunning: true, given: ["a", "b"], lost: 0 };

test.each([
  ["exactly the results of the calls", ["a", "b"], waits, "go_on"],
  ["the same in another order", ["b", "a"], waits, "go_on"],
  ["something else beside them, or no results", undefined, waits, "no_results"],
  ["a result too few", ["a"], waits, "other_calls"],
  ["a result too many", ["a", "b", "c"], waits, "other_calls"],
  ["one result twice", ["a", "a"], waits, "other_calls"],
  ["the results of other calls", ["c", "d"], waits, "other_calls"],
  ["results for calls that the agent gave up", ["a", "b"], { ...waits, given: ["a"], lost: 1 }, "calls_given_up"],
  ["results for a prompt that has ended", ["a", "b"], { ...waits, isRunning: false }, "prompt_ended"],
  ["results where no call waits", ["a"], { ...waits, given: [] }, "nothing_waits"],
] as const)("%s: %j", (_, results, state, choice) => {
  expect(continueParked(results, state)).toBe(choice);
});
