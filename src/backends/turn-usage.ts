import { estimatePromptTokens, estimateTokens } from "../base/token-estimate.ts";
import type { TurnEventBody } from "../log/event.ts";
import type { CortexStepGeneratorMetadata } from "../proto/windsurf/exa/cortex_pb.ts";
import type { AnswerSoFar } from "./answer-diff.ts";
import type { Prompt } from "./backend.ts";

type UsageEvent = Extract<TurnEventBody, { readonly type: "usage" }>;

/**
 * The tokens and credits of one turn, summed over its calls of the model; undefined when the server reports none. The server counts
 * input, cache-read and cache-write tokens separately; we add them up. Its output includes thinking. Source: docs/dev/wire/cascade.md,
 * "Token usage".
 */
export function summedUsage(entries: readonly CortexStepGeneratorMetadata[], fromStep: number): UsageEvent | undefined {
  let [prompt, cached, completion, credits] = [0, 0, 0, 0];
  for (const { metadata, stepIndices } of entries) {
    if (metadata.case !== "chatModel") continue;
    if (fromStep > 0 && !stepIndices.some((index) => index >= fromStep)) continue;
    const { usage, creditCost } = metadata.value;
    credits += creditCost;
    if (usage === undefined) continue;
    prompt += Number(usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens);
    cached += Number(usage.cacheReadTokens);
    completion += Number(usage.outputTokens);
  }
  if (prompt === 0 && completion === 0) return undefined;
  return {
    type: "usage",
    promptTokens: prompt,
    completionTokens: completion,
    thinkingTokens: 0,
    ...(cached === 0 ? {} : { cachedPromptTokens: cached }),
    ...(credits === 0 ? {} : { creditsHundredths: credits }),
    estimated: false,
  };
}

/** An estimate for a server that reports nothing, by the count that every API answers with. */
export function estimatedUsage(prompt: Prompt, answer: AnswerSoFar): UsageEvent {
  const thinkingTokens = estimateTokens(answer.thinking);
  return {
    type: "usage",
    promptTokens: estimatePromptTokens(prompt),
    completionTokens: thinkingTokens + estimateTokens(answer.text),
    thinkingTokens,
    estimated: true,
  };
}
