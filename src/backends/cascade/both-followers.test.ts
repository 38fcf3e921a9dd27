import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import { CortexStepStatus, ExecutorTerminationReason } from "../../proto/windsurf/exa/cortex_pb.ts";
import { replay } from "../replay.fake.ts";
import { FakeTrajectory } from "../trajectory.fake.ts";
import { fresh, HandFollower } from "./follow.fake.ts";
import { startFollowing } from "./follower.ts";
import { followSteps } from "./steps-follower.ts";
import { followTranscript } from "./transcript-follower.ts";

type Start = Parameters<typeof startFollowing>[0];

function bySteps(trajectory: FakeTrajectory, start: Start) {
  return new HandFollower(trajectory, startFollowing(start), followSteps, (t, offset, atMs) => ({
    kind: "steps" as const,
    atMs,
    offset,
    steps: structuredClone(t.steps.slice(offset)),
  }));
}

function byTranscript(trajectory: FakeTrajectory, start: Start) {
  return new HandFollower(trajectory, startFollowing(start), followTranscript, (t, offset, atMs) => ({
    kind: "transcript" as const,
    atMs,
    offset,
    transcript: t.transcript(offset),
    totalSteps: t.steps.length,
  }));
}

const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.string({ unit: fc.constantFrom("a", "b", " ", "\n", "é", "🙂"), minLength: 1, maxLength: 6 }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '{"action":"tool_call","tool_calls":[{"name":"f","arguments":{"a":1}}]}',
      '```json\n{"tool_calls":[{"name":"f","arguments":{}}]}\n```',
      '{"action":"final","content":"x"}',
      "[CORTEX_STEP_TYPE_ERROR_MESSAGE] no step",
      "=== MESSAGE 1 - Tool",
    ),
  },
);
const readers = [
  ["list_dir", "LIST_DIRECTORY"],
  ["view_file", "VIEW_FILE"],
  ["grep_search_v2", "GREP_SEARCH_V2"],
  ["find", "FIND"],
  ["search_web", "SEARCH_WEB"],
  ["code_search", "FIND_CODE_CONTEXT"],
] as const;
const effects = ["RUN_COMMAND", "CODE_ACTION", "WRITE_TO_FILE", "MCP_TOOL", "DEPLOY_WEB_APP"] as const;
/** Steps that are not in our schema; the last one is an effect by its name. */
const strangers = [
  [9_001, "STAR_CHART"],
  [9_002, "STAR_MAP_V3"],
  [9_003, "WRITE_STAR_CHART"],
] as const;
const images = [{ mimeType: "image/png", base64Data: "iVBORw0KGgo=" }];

const act = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("write" as const), text: piece }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("rewrite" as const), text: piece }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("poll" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("look" as const), with: fc.constantFrom(...readers) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("peek" as const), with: fc.constantFrom(...readers) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("meet" as const), with: fc.constantFrom(...strangers) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("think" as const), text: piece }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("stumble" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("recall" as const) }) },
);
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

const endings = ["checkpoint", "only tools", "tool", "bare", "limit", "error", "effect", "memory"] as const;

/** Carries out one act; both followers see the same trajectory. */
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
    case "meet":
      trajectory.closePlanner();
      trajectory.unknown(action.with[0], action.with[1]);
      return trajectory.plan();
    case "think":
      return trajectory.think(action.text);
    case "stumble":
      trajectory.closePlanner();
      trajectory.fail("The model produced an invalid tool call.");
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

function end(trajectory: FakeTrajectory, how: (typeof endings)[number], effect: (typeof effects)[number]): void {
  switch (how) {
    case "only tools":
      trajectory.closePlanner();
      trajectory.read("VIEW_FILE");
      trajectory.checkpoint();
      return trajectory.stop();
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
      return trajectory.read(effect);
    case "memory":
      trajectory.closePlanner();
      return trajectory.read("MEMORY");
    default:
      return how satisfies never;
  }
}

/** Deltas depend on the times of polls; the resulting text and the end do not. A typed step that is not in our schema is named by its number. */
function sum(events: readonly TurnEventBody[]) {
  const named = JSON.stringify(events.filter(isTerminal)).replaceAll(
    /STEP_TYPE_(\d+)/g,
    (whole, number: string) => strangers.find(([one]) => one === Number(number))?.[1] ?? whole,
  );
  return { text: replay(events).text, ends: JSON.parse(named) as readonly TurnEventBody[] };
}

/**
 * Not generated, because a transcript does not show it: thinking as such, an error that the server calls benign, a step that waits,
 * a call in the planner's step without its own step.
 */
test("typed steps and the transcript give the same events for the same trajectory", () => {
  const covered = new Set<string>();
  fc.assert(
    fc.property(
      fc.array(act, { maxLength: 25 }),
      fc.constantFrom(...endings),
      fc.constantFrom(...effects),
      fc.record({ second: fc.boolean(), strict: fc.boolean(), pictured: fc.boolean() }),
      (acts, how, effect, { second, strict, pictured }) => {
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
        trajectory.accept("hi", pictured ? images : []);
        trajectory.plan();
        for (const action of acts) {
          covered.add(action.do);
          if (action.do !== "poll") apply(trajectory, action);
          else for (const follower of both) if (!follower.ended) follower.poll();
        }
        end(trajectory, how, effect);
        for (const follower of both) follower.pollToEnd();

        const [steps, transcript] = both.map(({ events }) => sum(events));
        expect(transcript).toEqual(steps);
        expect(steps?.ends).toHaveLength(1);
        const [{ type } = { type: "" }] = steps?.ends ?? [];
        covered
          .add(type)
          .add(how)
          .add(pictured ? "images" : "")
          .add(how === "effect" ? effect : "");
      },
    ),
    { numRuns: 800 },
  );
  const acts = ["write", "rewrite", "poll", "look", "peek", "meet", "think", "stumble", "compact", "recall"];
  const all = [...acts, ...endings, ...effects, "finished", "failed", "images"];
  expect(all.filter((one) => !covered.has(one))).toEqual([]);
});
