import { expect, test } from "vitest";
import { stepsNamed } from "./ask-yes.ts";

test.each([
  ["y", [1, 2, 3, 4]],
  ["YES", [1, 2, 3, 4]],
  ["", []],
  ["n", []],
  ["no", []],
  ["1", [1]],
  ["1 3", [1, 3]],
  ["1,3", [1, 3]],
  ["2-4", [2, 3, 4]],
])("the answer %j means the steps %j", (answer, steps) => {
  expect([...(stepsNamed(answer, 4) ?? ["not understood"])]).toEqual(steps);
});

test.each(["1 x", "2 foo", "x", "yess", "9", "0", "3-1", "1-9", "-1", "1.5"])(
  "the answer %j is not understood, so no step is taken",
  (answer) => {
    expect(stepsNamed(answer, 4)).toBeUndefined();
  },
);
