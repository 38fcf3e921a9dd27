import type { Message, ToolCall } from "../../log/request.ts";
import { answerOfCall } from "../tools/told.ts";

type Answer = Extract<Message, { readonly role: "assistant" }>;

/**
 * The messages with each answer whole, its calls in our order. Some clients send an answer's parallel calls back one by one, each before its
 * result, or in another order: these would be answers that the model never gave, so no conversation that is still open would hold them. Source: docs/dev/wire/clients.md,
 * "Calls one by one".
 */
export function wholeAnswers(messages: readonly Message[]): readonly Message[] {
  const whole: Message[] = [];
  /** The answer after which only results have come, and its calls so far. */
  let last: Answer | undefined;
  let calls: ToolCall[] = [];
  for (const message of messages) {
    if (message.role === "assistant" && last !== undefined && isRestOf(message, last, calls.at(-1))) {
      for (const call of message.toolCalls) calls.push(call);
    } else if (message.role === "assistant") {
      last = message;
      calls = [...message.toolCalls];
      whole.push({ ...message, toolCalls: calls });
    } else {
      if (message.role !== "tool") last = undefined;
      whole.push(message);
    }
  }
  return whole.map(withCallsInOrder);
}

/** Our ids count the calls of an answer. A client with ids of its own keeps its order. */
function withCallsInOrder(message: Message): Message {
  if (message.role !== "assistant" || message.toolCalls.some((call) => answerOfCall(call.callId) === undefined))
    return message;
  const rank = (a: string, b: string) => a.length - b.length || (a < b ? -1 : 1);
  return { ...message, toolCalls: message.toolCalls.toSorted((a, b) => rank(a.callId, b.callId)) };
}

/** It has calls of the same answer, and says nothing more than that answer did. */
function isRestOf(message: Answer, earlier: Answer, call: ToolCall | undefined): boolean {
  const next = message.toolCalls[0];
  if (call === undefined || next === undefined) return false;
  const said = textOf(message);
  return answerOfCall(call.callId) === (answerOfCall(next.callId) ?? "") && (said === "" || said === textOf(earlier));
}

function textOf({ parts }: Answer): string {
  return parts
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("")
    .trim();
}
