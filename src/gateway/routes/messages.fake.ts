import Anthropic from "@anthropic-ai/sdk";
import type { TurnEventBody } from "../../log/event.ts";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";

export const path = "/v1/messages";
export const call = (callId: string, argumentsDelta: string, done: boolean): TurnEventBody => ({
  type: "tool_call",
  callId,
  name: "weather",
  argumentsDelta,
  done,
});
export const usage: TurnEventBody = {
  type: "usage",
  promptTokens: 1200,
  completionTokens: 7,
  thinkingTokens: 2,
  cachedPromptTokens: 1000,
  estimated: false,
};
export const messages = [{ role: "user" as const, content: "Hello" }];
export const ask = { model: "test-model", max_tokens: 100, messages };
export const tools = [{ name: "weather", input_schema: { type: "object" as const } }];

export function withSdk(answer: readonly TurnEventBody[] = [started, text("Hi"), usage, finished("Hi")]) {
  const fake = fakeGateway();
  fake.turns.script = () => answer;
  const client = new Anthropic({ baseURL: "http://gateway", apiKey: fakeKey, maxRetries: 0, fetch: fake.fetch });
  return { ...fake, client };
}
