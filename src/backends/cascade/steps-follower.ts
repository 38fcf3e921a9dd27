import {
  type CortexStepPlannerResponse,
  CortexStepStatus,
  type CortexTrajectoryStep,
} from "../../proto/windsurf/exa/cortex_pb.ts";
import {
  type Follower,
  type FollowerState,
  type FollowStep,
  followRun,
  followShort,
  type StepsSnapshot,
} from "./follower.ts";
import { kindOfCall, stepKind, stepName } from "./step-kinds.ts";
import { type Entry, plainEntry, spliceTail, viewOf } from "./turn-entries.ts";
import { advance } from "./turn-progress.ts";
import type { AnswerPhase, RunSnapshot } from "./turn-view.ts";

/**
 * The events between the known steps and one more snapshot. Pure. A poll reads from the last answer on. The steps before it are read
 * again when they moved, and once more when the turn closes. Source: docs/dev/wire/cascade.md, "Reading an answer", "Time line of a turn".
 */
export function followSteps(state: FollowerState, snapshot: StepsSnapshot | RunSnapshot): FollowStep {
  if (snapshot.kind === "run") return followRun(state, snapshot);
  const keep = snapshot.offset - state.firstIndex;
  const short = keep + snapshot.steps.length < state.entries.length ? followShort(state) : undefined;
  if (short !== undefined) return short;
  const entries = spliceTail(state.entries, keep, snapshot.steps.map(entryOf));
  if (entries === undefined) return { events: [], state: { ...state, offset: state.firstIndex, mustReread: true } };
  const { start, firstIndex } = state;
  const { view, lastAnswer, firstOpen } = viewOf(entries, start.fromStep - firstIndex, start.fresh, start.ideTools);
  const { events, progress } = advance(state.progress, view, snapshot.atMs, keep === 0, start.errorOf);
  const offset =
    progress.phase === "closing" ? firstIndex : firstIndex + ((progress.sent.holds ? firstOpen : lastAnswer) ?? 0);
  return { events, state: { ...state, entries, progress, offset, mustReread: false, shortPolls: 0 } };
}

/** Reads a turn from the typed steps of its trajectory. */
export const stepsFollower: Follower = {
  follow: followSteps,
  read(server, { cascadeId, state: { offset }, now }, signal) {
    return server.getSteps(cascadeId, offset, signal).then((steps) => ({ kind: "steps", atMs: now(), offset, steps }));
  },
};

function entryOf(step: CortexTrajectoryStep): Entry {
  const kind = stepKind(step);
  const content = step.step;
  if (content.case === "plannerResponse") return answerEntry(step, content.value);
  if (kind === "error") {
    const details = (content.case === "errorMessage" ? content.value.error : undefined) ?? step.error;
    return { ...plainEntry(kind), error: details?.isBenign === true ? undefined : { details } };
  }
  return plainEntry(kind, stepName(step));
}

function answerEntry(step: CortexTrajectoryStep, planner: CortexStepPlannerResponse): Entry {
  const { error, status } = step;
  const phase = phases.get(status) ?? "open";
  const rewritten = status === CortexStepStatus.DONE && planner.modifiedResponse !== "";
  const calls = planner.toolCalls.filter((c) => c.name !== "" && c.invalidJsonStr === "").map(callUse);
  const call = calls.find(({ kind }) => kind === "effect") ?? calls[0];
  const waits = status === CortexStepStatus.WAITING;
  return {
    kind: "answer",
    id: planner.messageId,
    answer: { text: rewritten ? planner.modifiedResponse : planner.response, thinking: planner.thinking },
    phase,
    error: phase === "broken" && error?.isBenign === false ? { details: error } : undefined,
    tool: waits && call?.kind !== "effect" ? { name: call?.name ?? stepName(step), kind: "effect" } : call,
  };
}

function callUse({ name }: { readonly name: string }): NonNullable<Entry["tool"]> {
  const kind = kindOfCall(name);
  return { name, kind: kind === "memory" ? "effect" : kind };
}

/** The phase that a planner step's status gives its text; all other statuses leave it open. */
const phases: ReadonlyMap<CortexStepStatus, AnswerPhase> = new Map([
  [CortexStepStatus.DONE, "done"],
  [CortexStepStatus.CLEARED, "done"],
  [CortexStepStatus.HALTED, "done"],
  [CortexStepStatus.SKIPPING, "done"],
  [CortexStepStatus.CANCELED, "cancelled"],
  [CortexStepStatus.ERROR, "broken"],
  [CortexStepStatus.INVALID, "broken"],
] as const);
