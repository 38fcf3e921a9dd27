import { FakeTrajectory } from "../trajectory.fake.ts";
import { fresh, HandFollower } from "./follow.fake.ts";
import type { StartPoint } from "./follower.ts";
import { startFollowing } from "./follower.ts";
import { followSteps } from "./steps-follower.ts";

export function follow(trajectory: FakeTrajectory, start: Partial<StartPoint> = {}) {
  return new HandFollower(trajectory, startFollowing({ ...fresh, ...start }), followSteps, (t, offset, atMs) => ({
    kind: "steps" as const,
    atMs,
    offset,
    steps: structuredClone(t.steps.slice(offset)),
  }));
}

export function started(): { trajectory: FakeTrajectory; follower: ReturnType<typeof follow> } {
  const trajectory = new FakeTrajectory();
  trajectory.accept("hi");
  trajectory.plan();
  return { trajectory, follower: follow(trajectory) };
}
