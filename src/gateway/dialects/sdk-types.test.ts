import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { recordedContext, recordedLog, wholeAnswerOf } from "../recorded.fake.ts";
import { anthropicMessages } from "./anthropic-messages/encode.ts";
import { openAiResponses } from "./openai-responses/encode.ts";
import { type Json, parsed, responsesWire } from "./surfaces.fake.ts";

const typesOf = (module: string) =>
  readFileSync(
    createRequire(import.meta.url)
      .resolve(module)
      .replace(/\.m?js$/, ".d.ts"),
    "utf8",
  );
const openai = typesOf("openai/resources/responses/responses");
const anthropic = typesOf("@anthropic-ai/sdk/resources/messages/messages");

/** The members that a type of an SDK says are always there. */
function required(types: string, name: string): string[] {
  const body = new RegExp(`^( *)(?:export )?interface ${name} (?:extends \\w+ )?\\{\\n([\\s\\S]*?)^\\1\\}`, "m").exec(
    types,
  );
  const indent = `${body?.[1] ?? ""}    `;
  return [...(body?.[2] ?? "").matchAll(new RegExp(`^${indent}(\\w+): `, "gm"))].map(([, member]) => String(member));
}

const log = recordedLog("thinking-then-tools");
const answerOf = (dialect: typeof openAiResponses, wire: unknown) =>
  dialect.encodeAnswer(recordedContext({ wire }), wholeAnswerOf(log)) as Json;

/** Members of the SDK's own making, of features that nothing here has, or (`citations: null`) that the AI SDK 5 and 6 refuse. */
const absent = new Set(["output_text", "access_programs", "citations"]);

const expectAll = (given: Json, types: string, name: string) => {
  const members = required(types, name).filter((member) => !absent.has(member));
  expect([name, members.length > 0]).toEqual([name, true]);
  expect([name, members.filter((member) => !(member in given))]).toEqual([name, []]);
};

describe("an answer has every member that the installed SDK's types promise", () => {
  it("of the Responses API", () => {
    const response = answerOf(openAiResponses, responsesWire);
    expectAll(response, openai, "Response");
    expectAll(response.usage, openai, "ResponseUsage");
    const ofUsage = openai.slice(openai.indexOf("namespace ResponseUsage"));
    expectAll(response.usage.input_tokens_details, ofUsage, "InputTokensDetails");
    const types = {
      message: "ResponseOutputMessage",
      reasoning: "ResponseReasoningItem",
      function_call: "ResponseFunctionToolCall",
    };
    for (const item of response.output as Json[]) expectAll(item, openai, types[item.type as keyof typeof types]);
  });

  it("of the Messages API, whole and streamed", () => {
    const message = answerOf(anthropicMessages, { model: "m" });
    const encoder = anthropicMessages.encoder(recordedContext({ wire: { model: "m" } }));
    const events = parsed([...encoder.open(), ...log.flatMap((event) => encoder.encode(event))]);
    const blocks = { text: "TextBlock", thinking: "ThinkingBlock", tool_use: "ToolUseBlock" };
    for (const whole of [message, events[0]?.message as Json]) {
      expectAll(whole, anthropic, "Message");
      expectAll(whole.usage, anthropic, "Usage");
    }
    const started = events
      .filter(({ type }) => type === "content_block_start")
      .map((event) => event.content_block as Json);
    for (const block of [...(message.content as Json[]), ...started])
      expectAll(block, anthropic, blocks[block.type as keyof typeof blocks]);
    const last = events.at(-2) ?? {};
    expectAll(last.usage, anthropic, "MessageDeltaUsage");
    expectAll(last.delta, anthropic.slice(anthropic.indexOf("namespace RawMessageDeltaEvent")), "Delta");
  });
});
