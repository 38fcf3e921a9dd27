import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { TurnEventBody } from "../../log/event.ts";
import { fakeGateway } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import { call, path, usage } from "./responses.fake.ts";

const item = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("message"),
    id: z.string(),
    status: z.string(),
    role: z.literal("assistant"),
    content: z.array(
      z.looseObject({
        type: z.literal("output_text"),
        text: z.string(),
        annotations: z.array(z.never()),
        logprobs: z.array(z.never()),
      }),
    ),
  }),
  z.looseObject({
    type: z.literal("function_call"),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status: z.string(),
  }),
]);
const functionTool = z.looseObject({
  type: z.literal("function"),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.looseObject({}).nullable(),
  strict: z.boolean().nullable(),
});

/** Members and types of a response, as the specification of Open Responses has them in November 2026: none is optional. */
const response = z.looseObject({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.string(),
  incomplete_details: z.looseObject({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(item),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(functionTool),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]),
  truncation: z.enum(["auto", "disabled"]),
  parallel_tool_calls: z.boolean(),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }), verbosity: z.string() }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z.looseObject({ effort: z.string().nullable(), summary: z.string().nullable() }).nullable(),
  usage: z
    .looseObject({
      input_tokens: z.int(),
      output_tokens: z.int(),
      total_tokens: z.int(),
      input_tokens_details: z.looseObject({ cached_tokens: z.int() }),
      output_tokens_details: z.looseObject({ reasoning_tokens: z.int() }),
    })
    .nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.looseObject({}),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
});

const said: readonly TurnEventBody[] = [started, text("Hello there, friend"), usage, finished("Hello there, friend")];
const called: readonly TurnEventBody[] = [
  started,
  call("c1", "get_weather", '{"location":"Graz"}'),
  usage,
  finished(""),
];
const user = (content: unknown) => ({ type: "message", role: "user", content });
const parameters = { type: "object", properties: { location: { type: "string" } }, required: ["location"] };
const tools = [{ type: "function", name: "get_weather", description: "The weather now.", parameters }];
const picture =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const history = [
  user("My name is Alice."),
  { type: "message", role: "assistant", content: "Hello Alice!" },
  user("What is it?"),
];

/** The cases of the specification's own public suite, in our words. */
const cases: readonly (readonly [string, object, readonly TurnEventBody[]])[] = [
  ["a text", { input: [user("Say hello in three words.")] }, said],
  ["a system message", { input: [{ type: "message", role: "system", content: "Be a pirate." }, user("Hello")] }, said],
  ["a tool that is called", { input: [user("How is the weather?")], tools }, called],
  [
    "a picture",
    {
      input: [
        user([
          { type: "input_text", text: "What is it?" },
          { type: "input_image", image_url: picture },
        ]),
      ],
    },
    said,
  ],
  ["a history", { input: history }, said],
];

function over(script: readonly TurnEventBody[]) {
  const fake = fakeGateway();
  fake.turns.script = () => script;
  return fake;
}

describe("Open Responses", () => {
  it.each(cases)("%s: the response has every member, and its output", async (_, body, script) => {
    const answer: unknown = await (await over(script).request(path, { json: { model: "test-model", ...body } })).json();
    expect(response.safeParse(answer)).toMatchObject({ success: true });
    const type = script === called ? "function_call" : "message";
    expect(answer).toMatchObject({ status: "completed", output: [{ type }] });
  });

  it.each(cases)(
    "%s: each response in the stream has every member, and each event says where it belongs",
    async (_, body, script) => {
      const streamed = await over(script).request(path, { json: { model: "test-model", stream: true, ...body } });
      const events = (await new SseReader(streamed).rest()).filter(({ data }) => data !== "[DONE]");
      const read = events.map(
        ({ data }) => JSON.parse(data) as { type: string; sequence_number: number; response?: unknown },
      );
      expect(events.map(({ event }) => event)).toEqual(read.map(({ type }) => type));
      expect(read.map(({ sequence_number: number }) => number)).toEqual(read.map((_event, i) => i));
      const whole = read.flatMap(({ response: told }) => (told === undefined ? [] : [response.safeParse(told)]));
      expect(whole.map(({ success }) => success)).toEqual(whole.map(() => true));
      expect(whole.length).toBeGreaterThan(2);
      expect(read.at(-1)?.type).toBe("response.completed");
    },
  );
});
