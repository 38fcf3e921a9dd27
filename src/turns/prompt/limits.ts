import { isMillraceError, MillraceError } from "../../base/errors.ts";
import type { ModelUid } from "../../base/ids.ts";
import { estimateTokens } from "../../base/token-estimate.ts";

/**
 * Above this size the tools' texts are shortened. Around 30 KB of prompt right after the start the panel state is lost, and tool lists
 * are the largest part of clients' requests. Source: docs/wire/cascade.md, "Panel state".
 */
export const toolsBytes = 30_000;
/** For a model whose window the list does not say. */
const unknownWindowTokens = 200_000;
const defaultAnswerTokens = 8_192;

/** How many tokens a prompt may have: the model's window without room for the answer (at most a quarter of it). */
export function promptBudget(contextTokens: number | undefined, maxOutputTokens: number | undefined): number {
  const window = contextTokens ?? unknownWindowTokens;
  return window - Math.min(maxOutputTokens ?? defaultAnswerTokens, Math.floor(window / 4));
}

/** A part of the prompt and its text, to name what is too big. */
export interface SizedPart {
  readonly name: string;
  readonly text: string;
}

/** The error of a prompt of at least `tokens`: how much it is, how much fits, and the three largest parts. */
export function tooLong(
  { tokens, budget, modelUid }: { readonly tokens: number; readonly budget: number; readonly modelUid: ModelUid },
  parts: readonly SizedPart[],
): MillraceError {
  const sized = parts.map(({ name, text }) => ({ name, tokens: estimateTokens(text) }));
  const total = Math.max(
    tokens,
    sized.reduce((sum, part) => sum + part.tokens, 0),
  );
  const largest = sized.sort((a, b) => b.tokens - a.tokens).slice(0, 3);
  const named = largest.map(({ name, tokens }) => `${name}: about ${tokens}`).join("; ");
  return new MillraceError(
    "context_too_long",
    `The prompt is about ${total} tokens; ${modelUid} takes ${budget} beside its answer. Largest parts: ${named}.`,
    {
      hint: `Shorten ${largest[0]?.name ?? "the conversation"}, or pick a model with a larger context window.`,
      details: { estimatedTokens: total, budgetTokens: budget, largest } satisfies TooLongDetails,
    },
  );
}

interface TooLongDetails {
  readonly estimatedTokens: number;
  readonly budgetTokens: number;
  readonly largest: readonly { readonly name: string; readonly tokens: number }[];
}

/** Whether it is the error of `tooLong`, with its figures. */
export function isTooLong(error: unknown): error is MillraceError & { readonly details: TooLongDetails } {
  if (!isMillraceError(error) || error.code !== "context_too_long") return false;
  const { details } = error;
  return typeof details === "object" && details !== null && "estimatedTokens" in details;
}
