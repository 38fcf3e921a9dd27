import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { patientDeadline } from "./patient-deadline.ts";

const never = new AbortController().signal;

/** Blocks this process, as work that does not wait for anything. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test("a blocked process gets to read what arrived meanwhile before the deadline is over", async () => {
  const limit = patientDeadline(never, 20);
  for (let turn = 0; turn < 3; turn++) {
    block(40);
    await nextTurn();
  }
  expect(limit.aborted).toBe(false);
});

test("it ends with a timeout", async () => {
  const limit = patientDeadline(never, 20);
  await expect.poll(() => limit.aborted).toBe(true);
  expect(limit.reason).toMatchObject({ name: "TimeoutError" });
});

test("it ends with the caller's signal, for the caller's reason", () => {
  const caller = new AbortController();
  const limit = patientDeadline(caller.signal, 60_000);
  caller.abort("gone");
  expect(limit.reason).toBe("gone");
});
