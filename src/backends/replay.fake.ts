import type { TurnEventBody } from "../log/event.ts";
import { type AnswerSoFar, emptyAnswer } from "./answer-diff.ts";

/** The answer that a reader of these events holds. */
export function replay(events: readonly TurnEventBody[], from: AnswerSoFar = emptyAnswer): AnswerSoFar {
  let { text, thinking } = from;
  for (const event of events) {
    if (event.type === "text") text += event.delta;
    if (event.type === "rewritten") text = event.text;
    if (event.type === "thinking") thinking += event.delta;
  }
  return { text, thinking };
}
