import { expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { defaultTiming, isAnswering } from "./timing.ts";

it("an upstream counts as alive for seven seconds after its last answer; a clock that was set back proves nothing", () => {
  const clock = new FakeClock();
  const agoMs = [0, 7_000, 7_001, -7_000, -7_001];
  const alive = agoMs.map((ms) => isAnswering(clock.now() - ms, clock, defaultTiming));
  expect(alive).toEqual([true, true, false, true, false]);
  expect(isAnswering(undefined, clock, defaultTiming)).toBe(false);
});
