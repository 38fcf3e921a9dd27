import type { ResponseFormat, ToolChoice, TurnRequest } from "../../log/request.ts";
import { callTag, markOf } from "./grammar.ts";
import { mapToolNames, type ShownTool, type ToolNames } from "./names.ts";

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
  /** The one tool that has to be called. */
  readonly demanded: ShownTool | undefined;
  /** The mark of the turn's tags (`markOf`). */
  readonly mark: string;
  /** The tag of a call, with its mark. */
  readonly tag: string;
}

/**
 * The plan for reading the answer to a request. It is undefined when the text passes unchanged (no tools, no form). `seed` makes the
 * ids of calls and the mark of the tags: unique to the turn, and the same when the turn is read again.
 */
export function planAnswer(request: TurnRequest, seed: string): AnswerPlan | undefined {
  const calls = request.tools.length > 0 && request.toolChoice.type !== "none";
  if (!calls && request.responseFormat.type === "text") return undefined;
  const { toolChoice } = request;
  const names = mapToolNames(calls ? request.tools : []);
  const mustCall = calls && (toolChoice.type === "required" || toolChoice.type === "named");
  const [only, ...more] = names.tools.filter(
    ({ tool }) => toolChoice.type !== "named" || tool.name === toolChoice.name,
  );
  const mark = markOf(request, seed);
  return {
    names,
    choice: calls ? toolChoice : { type: "none" },
    mustCall,
    parallel: request.parallelToolCalls,
    format: request.responseFormat,
    seed,
    demanded: mustCall && more.length === 0 ? only : undefined,
    mark,
    tag: `${callTag}-${mark}`,
  };
}
