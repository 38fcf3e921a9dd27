import { MillraceError, unusableAnswer } from "../../base/errors.ts";
import type { FinishReason, TerminalEvent, TurnEventBody, Usage } from "../../log/event.ts";
import type { PlannedAnswer } from "./planned-answer.ts";

export type AnswerVerdict =
  /** The model is asked again, with this text, on the same trajectory. */
  | { readonly type: "ask_again"; readonly text: string }
  /** The turn ends with these: `usage` where it is known, and the terminal event. */
  | { readonly type: "end"; readonly usage: readonly TurnEventBody[]; readonly end: TerminalEvent };

/** An answer that arrived, and its terminal event as the upstream gave it. */
export interface ArrivedAnswer {
  readonly answer: PlannedAnswer;
  readonly end: TerminalEvent;
}

/**
 * Decides which answers pass and which are requested again; nothing else decides that. An unusable answer is requested once more. If
 * the second answer is unusable too, the turn fails with `upstream_failed`. A turn whose readers have a whole call never fails because
 * of another call: it ends with the calls that they have. An incomplete call is never marked done. If an answer only announces a call,
 * the call is requested; the answer passes if no call comes. An adopted turn is not asked again (`mayAskAgain`), because its first
 * process may have done so. Pure.
 */
export function judge(first: ArrivedAnswer, second: ArrivedAnswer | undefined, mayAskAgain: boolean): AnswerVerdict {
  if (first.answer.nativeCalls !== undefined) return judgeNative(first, second, mayAskAgain);
  const { reask } = first.answer.result ?? {};
  if (first.end.type !== "finished") {
    return { type: "end", usage: usageEvents(first.answer.usage), end: first.end };
  }
  if (second === undefined && reask !== undefined && mayAskAgain) return { type: "ask_again", text: reask };
  const last = second?.answer ?? first.answer;
  const usage = usageEvents(summed(first.answer.usage, second?.answer.usage));
  // an answer without a problem passes when the second one does not bring the call that it announced
  const stands = second === undefined || (first.answer.result?.problem === undefined && last.told.calls.length === 0);
  // the second question was about a call: that it failed is no reason to take back a call that readers have
  const isSaved = second?.end.type === "failed" && last.told.calls.some(({ done }) => done);
  const judged = stands
    ? endOf(first.end, first.answer, last, second !== undefined)
    : endOf(isSaved ? first.end : second.end, second.answer, last, true);
  return { type: "end", usage, end: withIdeTools(judged, first.end, second?.end) };
}

/** An answer whose calls are the agent's own is as the agent gave it; only a call that the client requires is asked for once more. */
function judgeNative(first: ArrivedAnswer, second: ArrivedAnswer | undefined, mayAskAgain: boolean): AnswerVerdict {
  const calls = (first.answer.nativeCalls ?? 0) + (second?.answer.nativeCalls ?? 0);
  const last = second ?? first;
  const usage = usageEvents(summed(first.answer.usage, second?.answer.usage));
  const lacksCall = first.answer.plan.mustCall && calls === 0 && last.end.type === "finished";
  if (!lacksCall) return { type: "end", usage, end: withIdeTools(last.end, first.end) };
  if (second === undefined && mayAskAgain) return { type: "ask_again", text: callNow };
  const error = unusable("an answer without the call that the client requires", second !== undefined).toRecord();
  return { type: "end", usage, end: { type: "failed", error } };
}

const callNow = "You have to call one of your tools now, and write nothing else.";

/** Adds the tools that the IDE's agent used in any of the turn's answers. */
function withIdeTools(end: TerminalEvent, ...ends: readonly (TerminalEvent | undefined)[]): TerminalEvent {
  if (end.type === "cancelled") return end;
  const names = ends.flatMap((each) => (each === undefined || each.type === "cancelled" ? [] : (each.ideTools ?? [])));
  return names.length === 0 ? end : { ...end, ideTools: [...new Set(names)] };
}

function endOf(end: TerminalEvent, { result }: PlannedAnswer, last: PlannedAnswer, twice: boolean): TerminalEvent {
  if (end.type !== "finished") return end;
  const problem = result?.isExcused === true ? undefined : result?.problem;
  if (problem !== undefined) return { type: "failed", error: unusable(problem, twice).toRecord() };
  const { calls, text } = last.told;
  return { type: "finished", reason: reasonOf(end.reason, calls.length), text };
}

function usageEvents(usage: Usage | undefined): TurnEventBody[] {
  return usage === undefined ? [] : [{ type: "usage", ...usage }];
}

/** The finish reason follows from the turn's content, not from the upstream's reason. */
function reasonOf(reason: FinishReason, calls: number): FinishReason {
  if (reason.unified === "length" || reason.unified === "content_filter") return reason;
  return { unified: calls > 0 ? "tool_calls" : "stop", raw: reason.raw };
}

function summed(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const credits = (a.creditsHundredths ?? 0) + (b.creditsHundredths ?? 0);
  const cached = (a.cachedPromptTokens ?? 0) + (b.cachedPromptTokens ?? 0);
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    thinkingTokens: a.thinkingTokens + b.thinkingTokens,
    ...(a.cachedPromptTokens === undefined && b.cachedPromptTokens === undefined ? {} : { cachedPromptTokens: cached }),
    ...(a.creditsHundredths === undefined && b.creditsHundredths === undefined ? {} : { creditsHundredths: credits }),
    estimated: a.estimated || b.estimated,
  };
}

function unusable(problem: string, twice: boolean): MillraceError {
  return new MillraceError("upstream_failed", `The model gave ${problem}${twice ? " (it was asked twice)" : ""}.`, {
    details: { reason: unusableAnswer },
    hint: "Send the request again, or pick a model that calls tools more reliably.",
  });
}
