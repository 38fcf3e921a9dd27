import { isMillraceError } from "../../base/errors.ts";
import type { ModelUid } from "../../base/ids.ts";
import { writeJson } from "../../base/json.ts";
import { estimateTokens } from "../../base/token-estimate.ts";
import type { TurnRequest } from "../../log/request.ts";
import { isTooLong, layoutPrompt } from "../../turns/prompt/layout.ts";
import type { TurnParts } from "../http/context.ts";

/** A prompt's size for the client: its estimated tokens, and the parts that were shortened so that it fits. */
export interface PromptSize {
  readonly tokens: number;
  readonly compacted: readonly string[];
}

/**
 * Estimates the tokens of a request's prompt. It uses the same layout, count and window as generation, so that `count_tokens`,
 * `message_start`, the final usage and `x-millrace-compacted` agree. `contextTokens` is the window, undefined if unknown. A prompt
 * that is too long is counted too; the turn itself reports that. Source: docs/dev/wire/clients.md, "Messages".
 *
 * @throws MillraceError `invalid_request` for what cannot be laid out.
 */
export function sizeOfPrompt(request: TurnRequest, contextTokens: number | undefined): PromptSize {
  try {
    const { tokens, compacted } = layoutPrompt(request, { uid: "" as ModelUid, number: undefined, contextTokens }); // only its window matters
    return { tokens: Math.max(1, tokens), compacted };
  } catch (error) {
    if (!isTooLong(error)) throw error;
    return { tokens: error.details.tokens, compacted: [] };
  }
}

/** As `sizeOfPrompt`, of a request that was accepted already: it never throws. */
export function sizeOfAccepted(request: TurnRequest, contextTokens: number | undefined): PromptSize {
  try {
    return sizeOfPrompt(request, contextTokens);
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { tokens: Math.max(1, estimateTokens(writeJson(request.messages))), compacted: [] };
  }
}

/** The tokens of a request that is only counted: also where no IDE runs, or the model's name is wrong. */
export async function countTokens(
  { models, contextTokens }: TurnParts,
  request: TurnRequest,
  signal: AbortSignal,
): Promise<number> {
  const resolving = models.resolve(request.model, request.reasoningEffort, signal);
  const window = await resolving.then(
    ({ model }) => contextTokens?.(model.uid),
    (error: unknown) => {
      if (!isMillraceError(error)) throw error;
      return undefined;
    },
  );
  return sizeOfPrompt(request, window).tokens;
}
