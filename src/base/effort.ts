/** How hard a model thinks, least first. */
export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof efforts)[number];

/** Other words for an effort, without blanks and hyphens. */
const synonyms: Readonly<Record<string, Effort>> = {
  nothinking: "none",
  off: "none",
  extrahigh: "xhigh",
  veryhigh: "xhigh",
  maximum: "max",
};

export function isEffort(word: string): word is Effort {
  return efforts.some((effort) => effort === word);
}

/** The word for an effort, or nothing: `High`, `x-high`, `No Thinking` → `none`. */
export function parseEffort(text: string): Effort | undefined {
  const word = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, "");
  const spelled = Object.hasOwn(synonyms, word) ? synonyms[word] : word.replace(/(?:thinking|reasoning)$/, "");
  return efforts.find((effort) => effort === spelled);
}

/** A model's id with an effort that its agent has as a separate option: `claude-sonnet-5@high`. */
export function withEffort(id: string, effort: string): string {
  return `${id}@${effort}`;
}

/** A model and the effort behind its id, as `withEffort` puts it there. */
export function splitEffort(id: string): { readonly model: string; readonly effort: Effort | undefined } {
  const at = id.lastIndexOf("@");
  const effort = id.slice(at + 1);
  return at > 0 && isEffort(effort) ? { model: id.slice(0, at), effort } : { model: id, effort: undefined };
}
