import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "./clock.ts";

test("a sleep of a fraction of a millisecond more does not end before it", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let isOver = false;
  const sleeping = systemClock.sleep(17.8, new AbortController().signal).then(() => (isOver = true));
  await vi.advanceTimersByTimeAsync(17);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await sleeping).toBe(true);
});
