import { expect, test } from "vitest";
import { until } from "../../base/wait.fake.ts";
import { askLine, askYes, stepsNamed } from "./ask-yes.ts";
import { fakeIo } from "./io.fake.ts";

test("Ctrl-D at a question is a no and ends its line", async () => {
  const io = fakeIo({ homeFolder: "/nonexistent" });
  const answer = askYes("Do this?", io);
  io.stdin.push(null);
  expect(await answer).toBe(false);
  expect(io.written.stderr()).toBe("Do this? [y/N] \n");
});

test("an answer that is not understood is asked for again, and counts as no answer", async () => {
  const io = fakeIo({ homeFolder: "/nonexistent" });
  const answer = askYes("Do this?", io);
  io.stdin.push("yess\n");
  await until(() => io.written.stderr().includes("Type y or n."));
  io.stdin.push("y\n");
  expect(await answer).toBe(true);
});

test("Ctrl-C at a question ends the command", async () => {
  const stop = new AbortController();
  const io = fakeIo({ homeFolder: "/nonexistent", signal: stop.signal });
  const answer = askLine("Which?", io);
  stop.abort();
  await expect(answer).rejects.toMatchObject({ name: "AbortError" });
  expect(io.written.stderr()).toMatch(/^Which\? \r?\n$/);
});

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
