import type { FakeClock } from "../base/clock.fake.ts";
import type { TurnId } from "../base/ids.ts";
import { asking } from "./turns.fake.ts";

/** A turn that an ended process left in the store. */
export function record(clock: FakeClock) {
  return {
    ...asking(),
    turnId: "turn_left" as TurnId,
    createdAtMs: clock.now(),
    graceMs: 120_000,
  };
}
