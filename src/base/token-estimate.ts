/** Tokens counted for one image: the upper end of what vendors bill for a full-size picture. */
const imageTokens = 1_600;
/** Tokens that the IDE's own planner text adds to a turn. Source: docs/dev/wire/cascade.md, "Token usage". */
const plannerTokens = 1_700;

const asciiCharsPerToken = 3.8;
const otherTokensPerChar = 0.8;

/**
 * An estimate of a text's tokens, without a tokenizer: 3.8 ASCII characters a token, 0.8 tokens for every other character. It is
 * marked as an estimate in all output.
 */
export function estimateTokens(text: string): number {
  let other = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) other++;
  return Math.ceil((text.length - other) / asciiCharsPerToken + other * otherTokensPerChar);
}

/** No text of this many characters has fewer tokens. */
export function leastTokens(characters: number): number {
  return Math.floor(characters / asciiCharsPerToken);
}

/** About how many tokens a laid-out prompt costs, images and the IDE's planner text included. The one count for every API. */
export function estimatePromptTokens(prompt: {
  readonly instructions: string;
  readonly text: string;
  readonly images: readonly unknown[];
}): number {
  const written = estimateTokens(prompt.instructions) + estimateTokens(prompt.text);
  return plannerTokens + written + prompt.images.length * imageTokens;
}
