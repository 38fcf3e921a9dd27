import type { JsonObject } from "../../base/json.ts";
import type { Usage } from "../../log/event.ts";
import type { Answer } from "./answer.ts";
import type { EncodeContext } from "./dialect.ts";

/**
 * The turn's usage as the upstream reported it, else an estimate that is marked as one, with the prompt's tokens as `count_tokens` and
 * the beginning of a stream tell them. Completion tokens include the thinking ones.
 */
export function reportedUsage(answer: Answer, context: EncodeContext): Usage {
  if (answer.usage?.estimated === true) return { ...answer.usage, promptTokens: context.promptTokens };
  if (answer.usage !== undefined) return answer.usage;
  let visible = 0;
  let thinking = 0;
  for (const block of answer.blocks) {
    if (block.kind === "thinking") thinking += context.estimateTokens(block.text);
    else visible += context.estimateTokens(block.kind === "text" ? block.text : block.name + block.arguments);
  }
  return {
    promptTokens: context.promptTokens,
    completionTokens: visible + thinking,
    thinkingTokens: thinking,
    estimated: true,
  };
}

/** `usage` as Chat Completions and Completions write it. */
export function openAiUsage(usage: Usage): Readonly<Record<string, unknown>> {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedPromptTokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: usage.thinkingTokens },
    ...millraceUsage(usage),
  };
}

/** Usage facts that the API has no member for: whether the counts are estimates, and the credits. */
export function millraceUsage(usage: Usage): { readonly millrace: JsonObject } {
  const credits = usage.creditsHundredths === undefined ? {} : { credits_hundredths: usage.creditsHundredths };
  return { millrace: { estimated: usage.estimated, ...credits } };
}
