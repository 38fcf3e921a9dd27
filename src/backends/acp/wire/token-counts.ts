import { isObject, type JsonObject } from "../../../base/json.ts";
import type { TurnEventBody } from "../../../log/event.ts";

/** Tokens of one turn as an agent reports them. */
export interface TokenCounts {
  readonly input: number;
  readonly output: number;
  readonly thought: number;
  readonly cached: number;
  /** The agent's own sum; 0 when it gives none. */
  readonly total: number;
}

/** The names under which agents report a count, in ACP's own spelling first. */
const names = {
  input: ["inputTokens", "input_tokens", "promptTokens"],
  output: ["outputTokens", "output_tokens", "completionTokens"],
  thought: ["thoughtTokens", "thought_tokens", "reasoningTokens"],
  cachedRead: ["cachedReadTokens", "cached_read_tokens", "cachedTokens", "cached_tokens", "cacheReadTokens"],
  cachedWrite: ["cachedWriteTokens", "cached_write_tokens", "cacheWriteTokens"],
  total: ["totalTokens", "total_tokens"],
} as const;

/**
 * Token counts in an object, or in an object one level below it, as `_meta` holds them. Undefined when there are none, or
 * none above zero: OpenCode answers a cancelled prompt with zeros. Source: docs/dev/wire/acp.md.
 */
export function tokensIn(value: unknown): TokenCounts | undefined {
  if (!isObject(value)) return undefined;
  for (const candidate of [value, ...Object.values(value)]) {
    if (!isObject(candidate)) continue;
    const input = count(candidate, names.input);
    const output = count(candidate, names.output);
    const cached = count(candidate, names.cachedRead) + count(candidate, names.cachedWrite);
    if (input + output + cached === 0) continue;
    return { input, output, cached, thought: count(candidate, names.thought), total: count(candidate, names.total) };
  }
  return undefined;
}

/**
 * The `usage` event of these counts. For some agents cached tokens are part of the input, and thoughts part of the output. The
 * agent's total shows which. Without a total, both count as parts.
 */
export function usageEvent({ input, output, thought, cached, total }: TokenCounts): TurnEventBody {
  const apart = total - input - output;
  const cachedApart = apart === cached || apart === cached + thought;
  const thoughtApart = apart === thought || apart === cached + thought;
  return {
    type: "usage",
    promptTokens: cachedApart ? input + cached : Math.max(input, cached),
    completionTokens: thoughtApart ? output + thought : output,
    thinkingTokens: thought,
    ...(cached === 0 ? {} : { cachedPromptTokens: cached }),
    estimated: false,
  };
}

function count(value: JsonObject, keys: readonly string[]): number {
  for (const key of keys) {
    const found = value[key];
    if (typeof found === "number" && Number.isFinite(found) && found >= 0) return Math.round(found);
  }
  return 0;
}
