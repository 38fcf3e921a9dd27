import type { Backend, Backends, Prompt } from "../backends/backend.ts";
import type { CascadeId } from "../base/ids.ts";
import type { BackendKind } from "../log/event.ts";
import type { NewTurn } from "../log/store.ts";
import { continuingBackend } from "./continuity/continuing-backend.ts";
import type { Continuity, ContinuityOptions } from "./continuity/continuity.ts";
import { planAnswer } from "./tools/answer-plan.ts";
import { type AnswerReport, plannedBackend } from "./tools/planned-backend.ts";
import { continuedPromptOf, type Planning } from "./turn-plan.ts";

type Turn = Pick<NewTurn, "turnId" | "request" | "modelUid" | "modelNumber" | "caller" | "session">;

/** How one turn goes upstream: into which trajectory, and who reads its answer. */
export interface Route {
  readonly backend: Backend;
  /** `reused` or `rebuilt(reason)`, once it is known. */
  readonly continuity: Promise<string>;
}

const archiveMs = 5_000;

/** Only cascades and sessions of agents are ever archived. */
function kindOf(cascadeId: CascadeId): BackendKind {
  return cascadeId.startsWith("acp:") ? "acp" : "cascade";
}

/** Archives trajectories over whatever backend there is then. */
export function archiverOf(backends: Backends): ContinuityOptions["archive"] {
  return async (cascadeId: CascadeId) => {
    const signal = AbortSignal.timeout(archiveMs);
    await (await backends.holding({ backend: kindOf(cascadeId), cascadeId }, signal)).archive(cascadeId, signal);
  };
}

/** A backend whose answers are read by the turn's plan: calls and JSON come out checked. Counts what became of its calls. */
export function answeringBackend(
  planning: Planning,
  turn: Pick<Turn, "turnId" | "request" | "modelUid">,
  inner: Backend,
  onReport: (report: AnswerReport) => void = () => {},
): Backend {
  const plan = planAnswer(turn.request, turn.turnId.replace(/^turn_/, ""));
  if (plan === undefined) return inner;
  return plannedBackend(inner, plan, (report) => {
    onReport(report);
    if (report.outcomes.length > 0) planning.onOutcomes?.(turn, report.outcomes);
  });
}

/** The way of a new turn. Without continuity every prompt goes into a fresh trajectory. */
export function routeOf(planning: Planning, continuity: Continuity | undefined, turn: Turn, inner: Backend): Route {
  let asked: AnswerReport["asked"] = "once";
  const answering = answeringBackend(planning, turn, inner, (report) => {
    asked = report.asked;
  });
  if (continuity === undefined) return { backend: answering, continuity: Promise.resolve("rebuilt(off)") };
  const choice = continuity.choose(turn);
  const continued: Prompt | undefined =
    choice.type === "reuse" ? continuedPromptOf(planning, turn, choice.cascadeId) : undefined;
  const travelled = Promise.withResolvers<string>();
  const backend = continuingBackend({
    inner: answering,
    continuity,
    asker: turn,
    choice,
    continued,
    isClean: () => asked === "once",
    onTravelled: travelled.resolve,
  });
  return { backend, continuity: travelled.promise };
}
