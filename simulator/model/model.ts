import type { TurnPlan } from "../faults/turn-plan.ts";

/** The model's input in one turn, exactly as it came over the wire. */
export interface ModelPrompt {
  readonly text: string;
  /** The text to answer, without its history and without the directives for the simulator. */
  readonly asked: string;
  /** Instructions that the planner renders: the additional section, then the others that a client overrode. */
  readonly instructions: string;
  /** The messages that this cascade already holds, oldest first. */
  readonly history: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
  readonly images: readonly { readonly mimeType: string; readonly base64: string }[];
  readonly modelUid: string;
  readonly modelLabel: string;
  readonly thinks: boolean;
  /** Tokens that the client allowed; undefined when it set no limit. */
  readonly outputLimit: number | undefined;
  readonly plan: TurnPlan;
}

/** A piece of the model's answer, in order. */
export interface ModelDelta {
  readonly kind: "thinking" | "text";
  readonly text: string;
}

/** Tokens as the simulator counts them: four characters each, rounded up. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / 4);
}
