import type { ResponseFormat, ToolChoice, TurnRequest } from "../../log/request.ts";
import { markOf, textsOf } from "./grammar.ts";
import { mapToolNames, type ToolNames } from "./names.ts";
import { isTaughtId } from "./told.ts";

/** How the answer to a request has to be read. Plain data, made once a turn. */
export interface AnswerPlan {
  /** The tools that may be called; none when calls are not to be looked for. */
  readonly names: ToolNames;
  readonly choice: ToolChoice;
  /** The answer has to call a tool. */
  readonly mustCall: boolean;
  readonly parallel: boolean;
  readonly format: ResponseFormat;
  readonly seed: string;
  /** The mark of the turn's tags (`markOf`). */
  readonly mark: string;
  /** The texts of users and tools: a call that the model only quotes from them is text. */
  readonly quotable: readonly string[];
  /** In this conversation the model has called as it was taught: it uses no other form. */
  readonly isTaught: boolean;
}

/**
 * The plan for reading the answer to a request. It is undefined when the text passes unchanged (no tools, no form). `seed` makes the
 * ids of calls and the mark of the tags: unique to the turn, and the same when the turn is read again.
 */
export function planAnswer(request: TurnRequest, seed: string): AnswerPlan | undefined {
  const calls = request.tools.length > 0 && request.toolChoice.type !== "none";
  if (!calls && request.responseFormat.type === "text") return undefined;
  return {
    names: mapToolNames(calls ? request.tools : []),
    choice: calls ? request.toolChoice : { type: "none" },
    mustCall: calls && (request.toolChoice.type === "required" || request.toolChoice.type === "named"),
    parallel: request.parallelToolCalls,
    format: request.responseFormat,
    seed,
    mark: markOf(request, seed),
    quotable: request.messages.filter(({ role }) => role === "user" || role === "tool").flatMap(textsOf),
    isTaught: request.messages.some(
      (message) => message.role === "assistant" && message.toolCalls.some(({ callId }) => isTaughtId(callId)),
    ),
  };
}
