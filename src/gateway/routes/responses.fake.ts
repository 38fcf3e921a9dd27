import OpenAI from "openai";
import type { TurnEventBody } from "../../log/event.ts";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";

export const path = "/v1/responses";
export const call = (callId: string, name: string, argumentsDelta: string): TurnEventBody => ({
  type: "tool_call",
  callId,
  name,
  argumentsDelta,
  done: true,
});
export const usage: TurnEventBody = {
  type: "usage",
  promptTokens: 30,
  completionTokens: 7,
  thinkingTokens: 2,
  estimated: false,
};

export function withSdk(answer: readonly TurnEventBody[] = [started, text("Hi"), usage, finished("Hi")]) {
  const fake = fakeGateway();
  fake.turns.script = () => answer;
  const client = new OpenAI({ baseURL: "http://gateway/v1", apiKey: fakeKey, maxRetries: 0, fetch: fake.fetch });
  return { ...fake, client };
}
