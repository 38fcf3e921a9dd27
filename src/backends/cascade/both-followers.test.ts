import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import { CortexStepStatus, ExecutorTerminationReason } from "../../proto/windsurf/exa/cortex_pb.ts";
import { replay } from "../replay.fake.ts";
import { FakeTrajectory } from "../trajectory.fake.ts";
import { fresh, HandFollower } from "./follow.fake.ts";
import { followSteps, startSteps } from "./steps-follower.ts";
import { followTranscript, startTranscript } from "./transcript-follower.ts";

type Start = Parameters<typeof startSteps>[0];

function bySteps(trajectory: FakeTrajectory, start: Start) {
  return new HandFollower(trajectory, startSteps(start), followSteps, (t, offset, atMs) => ({
    kind: "steps" as const,
    atMs,
    offset,
    steps: structuredClone(t.steps.slice(offset)),
  }));
}

function byTranscript(trajectory: FakeTrajectory, start: Start) {
  return new HandFollower(trajectory, startTranscript(start), followTranscript, (t, offset, atMs) => ({
    kind: "transcript" as const,
    atMs,
    offset,
    transcript: t.transcript(offset),
    totalSteps: t.steps.length,
  }));
}

const piece = fc.string({ unit: fc.constantFrom("a", "b", " ", "\n", "é", "🙂"), minLength: 1, maxLength: 6 });
const readers = [
  ["list_dir", "LIST_DIRECTORY"],
  ["view_file", "VIEW_FILE"],
  ["grep_search_v2", "GREP_SEARCH_V2"],
] as const;

const act = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("write" as const), text: piece }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("rewrite" as const), text: piece }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("poll" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("look" as const), with: fc.constantFrom(...readers) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("peek" as const), with: fc.constantFrom(...readers) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("recall" as const) }) },
);
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

const endings = ["checkpoint", "tool", "bare", "limit", "error", "effect", "memory"] as const;

/** Adds what one act does; both followers look at the same trajectory. */
function apply(trajectory: FakeTrajectory, action: Exclude<Act, { readonly do: "poll" }>): void {
  switch (action.do) {
    case "write":
      return trajectory.write(action.text);
    case "rewrite":
      return trajectory.setText(action.text);
    case "look":
      trajectory.call(action.with[0]);
      trajectory.closePlanner();
      trajectory.read(action.with[1]);
      return trajectory.plan();
    case "peek":
      trajectory.closePlanner();
      trajectory.read(action.with[1]);
      return trajectory.plan();
    case "compact":
      trajectory.closePlanner();
      trajectory.checkpoint();
      return trajectory.plan();
    case "recall":
      return trajectory.memory();
    default:
      return action satisfies never;
  }
}

function end(trajectory: FakeTrajectory, how: (typeof endings)[number]): void {
  switch (how) {
    case "checkpoint":
      return trajectory.finish();
    case "tool":
      trajectory.closePlanner();
      trajectory.read("VIEW_FILE");
      return trajectory.finish();
    case "bare":
      trajectory.closePlanner();
      return trajectory.stop();
    case "limit":
      trajectory.closePlanner();
      return trajectory.stop(ExecutorTerminationReason.MAX_INVOCATIONS);
    case "error":
      trajectory.closePlanner(CortexStepStatus.DONE);
      trajectory.fail("Reached message rate limit for this model.");
      return trajectory.stop(ExecutorTerminationReason.ERROR);
    case "effect":
      trajectory.closePlanner();
      return trajectory.tool();
    case "memory":
      trajectory.closePlanner();
      return trajectory.read("MEMORY");
    default:
      return how satisfies never;
  }
}

/** Deltas depend on when a poll comes; what they make, and the end, do not. */
function sum(events: readonly TurnEventBody[]) {
  return { text: replay(events).text, ends: events.filter(isTerminal) };
}

test("typed steps and the transcript give the same events for the same trajectory", () => {
  fc.assert(
    fc.property(
      fc.array(act, { maxLength: 25 }),
      fc.constantFrom(...endings),
      fc.boolean(),
      fc.boolean(),
      (acts, how, second, strict) => {
        const trajectory = new FakeTrajectory();
        trajectory.errorRole = strict ? "System" : "Tool";
        if (second) {
          trajectory.accept("before");
          trajectory.plan();
          trajectory.write("earlier turn");
          trajectory.finish();
        }
        const start = { ...fresh, fromStep: trajectory.steps.length, fresh: !second };
        const both = [bySteps(trajectory, start), byTranscript(trajectory, start)] as const;
        trajectory.accept("hi");
        trajectory.plan();
        for (const action of acts) {
          if (action.do === "poll") for (const follower of both) follower.poll();
          else apply(trajectory, action);
        }
        end(trajectory, how);
        for (const follower of both) follower.pollToEnd();

        const [steps, transcript] = both.map(({ events }) => sum(events));
        expect(transcript).toEqual(steps);
        expect(steps?.ends).toHaveLength(1);
      },
    ),
    { numRuns: 600 },
  );
});
