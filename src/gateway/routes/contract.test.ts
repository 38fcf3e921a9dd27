import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import { MillraceError, unusableAnswer } from "../../base/errors.ts";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { fakeGateway } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire JSON of three APIs, looked into freely by these tests
type Json = Record<string, any>;

const started: TurnEventBody = {
  type: "started",
  modelUid: "uid-test-model" as ModelUid,
  backend: "cascade",
  cascadeId: "c-1" as CascadeId,
};
const answer: readonly TurnEventBody[] = [
  started,
  { type: "thinking", delta: "hm" },
  { type: "text", delta: "Hi" },
  { type: "tool_call", callId: "c1", name: "weather", argumentsDelta: '{"city":"Graz"}', done: true },
  { type: "tool_call", callId: "c2", name: "patch", argumentsDelta: "*** Begin", done: true },
  { type: "usage", promptTokens: 30, completionTokens: 7, thinkingTokens: 2, estimated: false },
  { type: "finished", reason: { unified: "stop", raw: undefined }, text: "Hi" },
];
const messages = [{ role: "user", content: "Hello" }];
const chat = { model: "test-model", messages, stream: true };

/** The events of a stream as JSON, and their names. */
async function streamed(path: string, body: Json, script = answer) {
  const fake = fakeGateway();
  fake.turns.script = () => script;
  const events = await new SseReader(await fake.request(path, { json: body })).rest();
  const json = events.filter(({ data }) => data !== "[DONE]").map(({ data }) => JSON.parse(data) as Json);
  return { json, types: json.map((event) => event.type as string) };
}

describe("what the wire promises, read event by event", () => {
  it("usage comes after the finish reason, with empty choices, and null before; unasked it does not come", async () => {
    proves("chat.usage-asked");
    const { json } = await streamed("/v1/chat/completions", { ...chat, stream_options: { include_usage: true } });
    expect(json.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 30, completion_tokens: 7 } });
    expect(json.at(-2)?.choices[0].finish_reason).toBe("tool_calls");
    for (const chunk of json.slice(0, -1)) expect(chunk.usage).toBeNull();
    for (const chunk of (await streamed("/v1/chat/completions", chat)).json) {
      expect(chunk.choices).toHaveLength(1);
      expect(chunk.usage ?? null).toBeNull();
    }
  });

  it("thinking is reasoning_content of its own deltas, and of the whole answer", async () => {
    proves("chat.reasoning");
    const { json } = await streamed("/v1/chat/completions", chat);
    const deltas = json.map((chunk) => chunk.choices[0].delta as Json);
    expect(deltas.flatMap(({ reasoning_content: text }) => text ?? [])).toEqual(["hm"]);
    expect(deltas.map(({ content }) => content ?? "").join("")).toBe("Hi");
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const whole = (await (
      await fake.request("/v1/chat/completions", { json: { ...chat, stream: false } })
    ).json()) as Json;
    expect(whole.choices[0].message).toMatchObject({ content: "Hi", reasoning_content: "hm" });
  });

  it("a message starts empty, with the tokens of its prompt, and ends with both counts", async () => {
    proves("messages.start", "messages.final-usage");
    const { json } = await streamed("/v1/messages", { ...chat, max_tokens: 100 });
    expect(json[0]?.message).toMatchObject({ content: [], stop_reason: null, stop_sequence: null });
    expect(json[0]?.message.usage.input_tokens).toBeGreaterThan(0);
    expect(json.at(-2)).toMatchObject({ type: "message_delta", usage: { input_tokens: 30, output_tokens: 7 } });
  });

  it("a silent message is pinged within 15 s, by an event that changes nothing", async () => {
    proves("messages.ping");
    const fake = fakeGateway();
    fake.turns.script = () => [started, { type: "text", delta: "x" }];
    const reader = new SseReader(await fake.request("/v1/messages", { json: { ...chat, max_tokens: 100 } }));
    for (const name of ["message_start", "content_block_start", "content_block_delta"])
      expect((await reader.next())?.event).toBe(name);
    const beat = reader.next();
    await fake.clock.advance(9_500);
    fake.turns.alive(fake.turns.turnId(0));
    await fake.clock.advance(5_500);
    expect(await beat).toMatchObject({ event: "ping", data: '{"type":"ping"}' });
    await reader.cancel();
  });

  it("every item of a response climbs its whole ladder", async () => {
    proves("responses.ladder", "responses.custom-tools", "responses.call-ids");
    const tools = [
      { type: "function", name: "weather", parameters: {} },
      { type: "custom", name: "patch" },
    ];
    const { types } = await streamed("/v1/responses", { model: "test-model", input: "Hello", stream: true, tools });
    expect(types).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.custom_tool_call_input.delta",
      "response.custom_tool_call_input.done",
      "response.output_item.done",
      "response.completed",
    ]);
  });

  it("tokens are counted with any query, for a name that is no model, and where no IDE runs", async () => {
    proves("messages.count-tokens");
    const fake = fakeGateway();
    const count = async (path: string, model: string) => {
      const response = await fake.request(`/v1/messages/count_tokens${path}`, { json: { model, messages } });
      return [response.status, ((await response.json()) as Json).input_tokens];
    };
    const [status, tokens] = await count("", "test-model");
    expect(status).toBe(200);
    expect(tokens).toBeGreaterThan(0);
    expect(await count("?beta=true", "claude-nobody-has")).toEqual([200, tokens]);
    fake.models.fails = new MillraceError("ide_not_running", "No IDE runs.");
    expect(await count("/?beta=true", "test-model")).toEqual([200, tokens]);
  });

  it("an answer that stayed unusable is not asked for again by the client: 400, and no overload in a stream", async () => {
    proves("http.permanent-4xx");
    const error = { code: "upstream_failed", message: "No.", hint: "", details: { reason: unusableAnswer } } as const;
    const failed: TurnEventBody = { type: "failed", error };
    for (const path of ["/v1/chat/completions", "/v1/messages", "/v1/responses"]) {
      const fake = fakeGateway();
      fake.turns.script = () => [started, failed];
      const body = {
        model: "test-model",
        max_tokens: 9,
        ...(path === "/v1/responses" ? { input: "x" } : { messages }),
      };
      const response = await fake.request(path, { json: body });
      expect([response.status, response.headers.get("x-should-retry")]).toEqual([400, "false"]);
      expect(await response.json()).toMatchObject({ error: { details: { reason: "unusable_answer" } } });
    }
    const { json } = await streamed("/v1/messages", { ...chat, max_tokens: 9 }, [
      started,
      { type: "text", delta: "Hal" },
      failed,
    ]);
    expect(json.at(-1)).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
    const chunks = (await streamed("/v1/chat/completions", chat, [started, { type: "text", delta: "Hal" }, failed]))
      .json;
    expect(chunks.at(-1)).toMatchObject({ error: { type: "invalid_request_error", code: "upstream_failed" } });
  });
});
