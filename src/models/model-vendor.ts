import type { Catalogue } from "./catalogue.ts";
import { isPrivate } from "./model-name.ts";

const vendorWords: readonly (readonly [RegExp, string])[] = [
  [/^(?:claude|opus|sonnet|haiku|fable)/, "anthropic"],
  [/^(?:gpt|o\d|codex)/, "openai"],
  [/^(?:gemini|gemma)/, "google"],
  [/^grok/, "xai"],
  [/^deepseek/, "deepseek"],
  [/^kimi/, "moonshot"],
  [/^qwen/, "alibaba"],
  [/^glm/, "zhipu"],
  [/^minimax/, "minimax"],
  [/^(?:swe|fusion)/, "cognition"],
  [/^llama/, "meta"],
  [/^(?:mistral|codestral|devstral|magistral)/, "mistral"],
];

/** Who makes a model, by its catalogue entry or the first word of its name; `unknown` where neither says. */
export function vendorByName(uid: string, name: string, label: string, catalogue: Catalogue): string {
  const known = isPrivate(uid) ? catalogue.byLabel(label) : catalogue.byUid(uid);
  return known?.vendor ?? vendorWords.find(([pattern]) => pattern.test(name))?.[1] ?? "unknown";
}
