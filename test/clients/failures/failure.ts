/** One way a question fails: what is asked, of which model, and what the user has to read. */
export interface Failure {
  readonly name: FailureName;
  /** A directive for the stand-in. */
  readonly prompt: string;
  /** Words of the gateway's message that are in no prompt: some clients print the prompt too. */
  readonly words: RegExp;
  /** Not the usual one. */
  readonly model?: string;
  readonly withoutIde?: true;
  /** Most prompts for one question: the first and one more, or none where nothing can be sent. */
  readonly mostPrompts: 0 | 2;
}

export const failureNames = [
  "quota",
  "rate limit",
  "high demand at the start",
  "high demand in the middle",
  "internal at send",
  "internal in the middle",
  "no IDE",
  "unsupported model",
] as const;
export type FailureName = (typeof failureNames)[number];

const some = "size=600 thinking=0";

export const failures: readonly Failure[] = [
  { name: "quota", prompt: "error=quota", words: /usage quota is used up|quota exceeded/i, mostPrompts: 2 },
  {
    name: "rate limit",
    prompt: "error=rate_limit",
    words: /(?:message rate limit|limit on messages) for this model is reached/i,
    mostPrompts: 2,
  },
  {
    name: "high demand at the start",
    prompt: "error=high_demand",
    words: /model is in high demand/i,
    mostPrompts: 2,
  },
  {
    name: "high demand in the middle",
    prompt: `error=high_demand error-after=300 ${some}`,
    words: /model is in high demand/i,
    mostPrompts: 2,
  },
  {
    name: "internal at send",
    prompt: "error=internal error-at=send",
    words: /had an internal (?:error|fault)|connection to the IDE's server broke/i,
    mostPrompts: 2,
  },
  {
    name: "internal in the middle",
    prompt: `error=internal error-after=300 ${some}`,
    words: /had an internal (?:error|fault)|connection to the IDE's server broke/i,
    mostPrompts: 2,
  },
  { name: "no IDE", prompt: "text=unseen", words: /is installed, but does not run/i, withoutIde: true, mostPrompts: 0 },
  {
    name: "unsupported model",
    prompt: "text=unseen",
    words: /has no model|may not exist|not found on provider/i,
    model: "claude-sonnet-99",
    mostPrompts: 0,
  },
].map(
  ({ prompt, ...rest }): Failure => ({
    ...(rest as Omit<Failure, "prompt">),
    prompt: `[[sim: ${prompt}]] Say something.`,
  }),
);

/** The failures that are driven without `--failures all`. */
export const usualFailures: readonly FailureName[] = ["quota", "high demand in the middle", "no IDE"];
