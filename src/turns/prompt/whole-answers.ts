import type { Message } from "../../log/request.ts";
import { answerOfCall } from "../tools/told.ts";

type Answer = Extract<Message, { readonly role: "assistant" }>;

/**
 * The messages with each answer whole. Some clients send an answer's parallel calls back one by one, each before its result: as messages
 * they would be answers that the model never gave, so no conversation that is still open would hold them. Source: docs/dev/wire/clients.md,
 * "Calls one by one".
 */
export function wholeAnswers(messages: readonly Message[]): readonly Message[] {
  const whole: Message[] = [];
  for (const message of messages) {
    const at = whole.findLastIndex(({ role }) => role !== "tool");
    const earlier = whole[at];
    if (message.role === "assistant" && earlier?.role === "assistant" && isRestOf(message, earlier))
      whole[at] = { ...earlier, toolCalls: [...earlier.toolCalls, ...message.toolCalls] };
    else whole.push(message);
  }
  return whole;
}

/** It has calls of the same answer, and says nothing more than that answer did. */
function isRestOf(message: Answer, earlier: Answer): boolean {
  const [last, next] = [earlier.toolCalls.at(-1), message.toolCalls[0]];
  if (last === undefined || next === undefined) return false;
  const said = textOf(message);
  return answerOfCall(last.callId) === (answerOfCall(next.callId) ?? "") && (said === "" || said === textOf(earlier));
}

function textOf({ parts }: Answer): string {
  return parts
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("")
    .trim();
}
