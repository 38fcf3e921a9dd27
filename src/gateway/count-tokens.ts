import { isMillraceError } from "../base/errors.ts";
import type { ModelUid } from "../base/ids.ts";
import type { TurnRequest } from "../log/request.ts";
import { estimatePromptTokens, estimateTokens } from "../turns/prompt/estimate.ts";
import { layoutPrompt } from "../turns/prompt/layout.ts";

/** The window is left out: the same request counts the same whatever the model, now and after a restart. */
const anyModel = { uid: "" as ModelUid, number: undefined, contextTokens: undefined }; // only its window matters to a layout

/** What a layout tells a client: about how many tokens it is, and what was shortened to make it fit. */
export interface PromptSize {
  readonly tokens: number;
  readonly compacted: readonly string[];
}

/** As `countPromptTokens`, and for a prompt that no model could take, about what its text is: the turn itself will say so. */
export function sizeOfPrompt(request: TurnRequest): PromptSize {
  try {
    const { prompt, compacted } = layoutPrompt(request, anyModel);
    return { tokens: Math.max(1, estimatePromptTokens(prompt)), compacted };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { tokens: Math.max(1, estimateTokens(JSON.stringify(request.messages))), compacted: [] };
  }
}

/**
 * About how many tokens the prompt of a request is, as the model gets it: laid out and counted by the very functions
 * that generation uses, so that `count_tokens`, `message_start` and the final usage agree. Source: client-contract row 38.
 *
 * @throws MillraceError `context_too_long` where no model could take it.
 */
export function countPromptTokens(request: TurnRequest): number {
  return Math.max(1, estimatePromptTokens(layoutPrompt(request, anyModel).prompt));
}
