import Anthropic from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import { rawClient, say } from "../../src/gateway/streams/raw-client.fake.ts";
import { headersOf, newNames } from "../../src/gateway/streams/stream-world.fake.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { model, openai, sharedWorld } from "../support/world.ts";

const world = sharedWorld([]);

const parameters = { type: "object" as const, properties: { command: { type: "string" } }, required: ["command"] };
const bash = { name: "bash", description: "Runs a command.", parameters };

/** What a client was told: all texts in order, and the calls with their arguments. */
interface AnswerText {
  text: string;
  readonly calls: string[];
}

type Ask = (served: GatewayProcess, content: string) => Promise<AnswerText>;

const told = (text: string | null, ...calls: string[]): AnswerText => ({ text: text ?? "", calls });
const callOf = (call: { readonly name: string; readonly arguments: string }) => `${call.name} ${call.arguments}`;

const chat = (content: string) => ({
  model,
  messages: [{ role: "user" as const, content }],
  tools: [{ type: "function" as const, function: bash }],
});
const message = (content: string) => ({
  model,
  max_tokens: 2000,
  messages: [{ role: "user" as const, content }],
  tools: [{ name: bash.name, description: bash.description, input_schema: parameters }],
});
const response = (content: string) => ({
  model,
  input: content,
  tools: [{ type: "function" as const, strict: false, ...bash }],
});
const anthropic = ({ url, key }: GatewayProcess) => new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });

const apis: Readonly<Record<string, Ask>> = {
  async "Chat Completions"(served, content) {
    const { choices } = await openai(served).chat.completions.create(chat(content));
    const { content: text, tool_calls: calls = [] } = choices[0]?.message ?? { content: "" };
    return told(text, ...calls.flatMap((one) => (one.type === "function" ? [callOf(one.function)] : [])));
  },
  async "Chat Completions, streamed"(served, content) {
    const all: AnswerText = { text: "", calls: [] };
    for await (const { choices } of await openai(served).chat.completions.create({ ...chat(content), stream: true })) {
      all.text += choices[0]?.delta.content ?? "";
      for (const { index, function: part } of choices[0]?.delta.tool_calls ?? []) {
        const name = part?.name === undefined ? "" : `${part.name} `;
        all.calls[index] = `${all.calls[index] ?? ""}${name}${part?.arguments ?? ""}`;
      }
    }
    return all;
  },
  async Responses(served, content) {
    const { output, output_text: text } = await openai(served).responses.create(response(content));
    return told(text, ...output.flatMap((item) => (item.type === "function_call" ? [callOf(item)] : [])));
  },
  async "Responses, streamed"(served, content) {
    const all: AnswerText = { text: "", calls: [] };
    for await (const event of await openai(served).responses.create({ ...response(content), stream: true })) {
      if (event.type === "response.output_text.delta") all.text += event.delta;
      if (event.type === "response.output_item.done" && event.item.type === "function_call")
        all.calls.push(`${event.item.name} ${event.item.arguments}`);
    }
    return all;
  },
  async Messages(served, content) {
    const { content: blocks } = await anthropic(served).messages.create(message(content));
    return told(
      blocks.map((block) => (block.type === "text" ? block.text : "")).join(""),
      ...blocks.flatMap((block) => (block.type === "tool_use" ? [`${block.name} ${JSON.stringify(block.input)}`] : [])),
    );
  },
  async "Messages, streamed"(served, content) {
    const all: AnswerText = { text: "", calls: [] };
    for await (const event of await anthropic(served).messages.create({ ...message(content), stream: true })) {
      if (event.type === "content_block_start" && event.content_block.type === "tool_use")
        all.calls.push(`${event.content_block.name} `);
      if (event.type !== "content_block_delta") continue;
      if (event.delta.type === "text_delta") all.text += event.delta.text;
      if (event.delta.type === "input_json_delta")
        all.calls.push(`${all.calls.pop() ?? ""}${event.delta.partial_json}`);
    }
    return all;
  },
  async "stream protocol"(served, content) {
    const stream = rawClient(served).attach("sse", headersOf(newNames()));
    stream.send(say.request(content, 0, { model, tools: ["bash"] }));
    const calls = () =>
      stream.chunks.flatMap(({ response: { case: kind, value } }) =>
        kind === "clientSideToolV2Call" ? [`${value.name} ${value.rawArgs}`] : [],
      );
    await stream.until(({ end }) => end !== undefined || calls().length > 0);
    const all = { text: stream.text, calls: calls() };
    await stream.cut();
    return all;
  },
};

const call = '{"name":"bash","arguments":{"command":"ls"}}';
const object = `{"action":"tool_call","tool_calls":[${call}]}`;
const called = ['bash {"command":"ls"}'];
const [before, after] = ["I will look first.", "\nThen I will tell you."];

/** A piece of the answer appears with each poll, so that the object is read while it grows. */
const slowly = "rate=300 chunk=4";
const script = (line: string, form = "") => `[[sim: ${slowly} ${form}]] [[agent\n${line}\n]]`;
const callIn = (form: string) => script('call bash {"command":"ls"}', `call-form=${form}`);

const cases: readonly (readonly [what: string, asked: string, expected: AnswerText])[] = [
  ["calls that are the whole answer", callIn("action"), { text: "", calls: called }],
  ["calls in a code block", callIn("fenced-action"), { text: "", calls: called }],
  ["calls between sentences as text", callIn("action-between"), { text: `${before}\n${object}${after}`, calls: [] }],
  ["calls without an action", callIn("tool-calls"), { text: "", calls: called }],
  ["a final text", script("say All is done.", "call-form=action"), { text: "All is done.", calls: [] }],
  ["a final text in a code block", script("say Done.", "call-form=fenced-action"), { text: "Done.", calls: [] }],
  [
    "an object that is only shown",
    script(`say It writes ${object} then.`),
    { text: `It writes ${object} then.`, calls: [] },
  ],
  [
    "a call of a tool that was not offered",
    script(`say ${object.replace("bash", "rm")}`),
    { text: object.replace("bash", "rm"), calls: [] },
  ],
];

it.each(cases)("reads %s over every API, streamed or not", async (_, asked, expected) => {
  const { served } = world();
  const answers = await Promise.all(
    Object.entries(apis).map(async ([api, ask]) => [api, await ask(served, `${asked} Over ${api}.`)] as const),
  );
  expect(Object.fromEntries(answers)).toEqual(Object.fromEntries(Object.keys(apis).map((api) => [api, expected])));
});
