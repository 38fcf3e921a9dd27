import { type ErrorRecord, MillraceError, unusableAnswer } from "../../base/errors.ts";
import type { FinishReason, TurnEventBody } from "../../log/event.ts";
import { ExecutorTerminationReason } from "../../proto/windsurf/exa/cortex_pb.ts";
import type { ErrorOf, RunSnapshot } from "./run-snapshot.ts";
import type { TurnView } from "./turn-view.ts";

/** The meaning of an execution's end: a finish reason, or the way in which the turn went wrong. */
type EndKind = FinishReason["unified"] | "failed" | "cancelled" | "blocked";

const endings: Readonly<Record<keyof typeof ExecutorTerminationReason, EndKind>> = {
  UNSPECIFIED: "stop",
  ERROR: "failed",
  USER_CANCELED: "cancelled",
  MAX_INVOCATIONS: "length",
  NO_TOOL_CALL: "stop",
  HALTED_STEP: "stop",
  HOOK_BLOCKED: "blocked",
  ARENA_INVOCATION_CAP: "length",
};

/**
 * The terminal event of a turn that is over. The trajectory takes precedence over the executor's status: an error step names its
 * cause, the termination reason does not. Both ends name the tools with which the IDE's agent looked something up.
 */
export function conclude(view: TurnView, run: RunSnapshot | undefined, errorOf: ErrorOf): TurnEventBody {
  const end = endOf(view, run, errorOf);
  return view.read.length === 0 || end.type === "cancelled" ? end : { ...end, ideTools: view.read };
}

type End = Extract<TurnEventBody, { readonly type: "finished" | "failed" | "cancelled" }>;

function endOf(view: TurnView, run: RunSnapshot | undefined, errorOf: ErrorOf): End {
  if (view.tool !== undefined) return failed(toolMessage(view.tool), toolHint, { reason: unusableAnswer });
  if (view.cut) return failed(cutMessage, cutHint, { reason: unusableAnswer });
  if (view.error?.details !== undefined) return { type: "failed", error: errorOf(view.error.details).toRecord() };
  if (view.error !== undefined) return failed("The IDE reported an error for this turn without a reason.");
  const { raw, ending } = endingOf(run);
  if (view.phase === "cancelled" || ending === "cancelled") return failed(stoppedMessage);
  if (view.phase === "broken" || ending === "failed") return failed("The IDE's server gave up on this turn.");
  if (ending === "blocked") return failed("A Cascade hook set up in the IDE blocked this turn.", hookHint);
  if (view.phase === "open") return failed(unfinishedMessage(run));
  const marked = (view.checkpoint && !view.looking) || (run?.executors.length ?? 0) > 0;
  if (view.looking && !marked) return failed(unfinishedMessage(run));
  if (view.phase === "none" && !marked) return failed(unansweredMessage(view, run));
  const isSilent = view.answer.text === "" && view.read.length === 0 && !view.called;
  if (isSilent && ending === "stop") return failed(emptyMessage, emptyHint, { reason: unusableAnswer });
  return { type: "finished", reason: { unified: ending, raw }, text: view.answer.text };
}

function endingOf(run: RunSnapshot | undefined): { readonly ending: EndKind; readonly raw: string | undefined } {
  const reason = run?.executors.at(-1)?.terminationReason;
  for (const [name, number] of Object.entries(ExecutorTerminationReason)) {
    if (number !== reason || number === ExecutorTerminationReason.UNSPECIFIED) continue;
    // entries() of the enum's own object: its keys are the enum's names
    return { ending: endings[name as keyof typeof ExecutorTerminationReason], raw: name.toLowerCase() };
  }
  return { ending: "stop", raw: undefined };
}

const toolHint = "Millrace lets the IDE's agent read, but not change anything. Try again, or pick another model.";
const hookHint = "Look at the Cascade hooks in the IDE's settings, or ask your administrator.";

const emptyMessage = "The IDE's server sent an answer without text.";
const emptyHint =
  "Send the request again, or pick another model. `millrace doctor` shows whether the IDE answers at all.";

const stoppedMessage = "The IDE stopped this answer: the stop button was pressed there, or the IDE is closing.";
const cutMessage =
  "The answer is longer than the 200,000 characters that this IDE can show. The part that arrived was kept.";
const cutHint = "Ask for a shorter answer, or update the IDE. Newer versions have no such limit.";

function toolMessage(tool: string): string {
  return `The IDE's agent wanted to use its own tool ${tool}, so Millrace stopped the turn.`;
}

function unfinishedMessage(run: RunSnapshot | undefined): string {
  return run?.restarted === true
    ? "The IDE's server restarted during the answer. The part that arrived was kept."
    : "The IDE's server stopped in the middle of the answer. The part that arrived was kept.";
}

function unansweredMessage(view: TurnView, run: RunSnapshot | undefined): string {
  if (run?.restarted === true) return "The IDE's server restarted before it answered.";
  return view.prompted
    ? "The IDE's server accepted the prompt, but ended without an answer."
    : "The IDE's server accepted the prompt, but did not start to answer.";
}

function failed(
  message: string,
  hint?: string,
  details?: unknown,
): { readonly type: "failed"; readonly error: ErrorRecord } {
  const more = { ...(hint === undefined ? {} : { hint }), ...(details === undefined ? {} : { details }) };
  const error = new MillraceError("upstream_failed", message, more);
  return { type: "failed", error: error.toRecord() };
}
