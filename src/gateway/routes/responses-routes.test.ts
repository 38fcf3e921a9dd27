import OpenAI from "openai";
import { ResponseStream } from "openai/lib/responses/ResponseStream";
import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { type FakeGateway, fakeGateway, fakeKey, guestKey } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";

const path = "/v1/responses";
const call = (callId: string, name: string, argumentsDelta: string): TurnEventBody => ({
  type: "tool_call",
  callId,
  name,
  argumentsDelta,
  done: true,
});
const usage: TurnEventBody = {
  type: "usage",
  promptTokens: 30,
  completionTokens: 7,
  thinkingTokens: 2,
  estimated: false,
};

function withSdk(answer: readonly TurnEventBody[] = [started, text("Hi"), usage, finished("Hi")]) {
  const fake = fakeGateway();
  fake.turns.script = () => answer;
  const client = new OpenAI({ baseURL: "http://gateway/v1", apiKey: fakeKey, maxRetries: 0, fetch: fake.fetch });
  return { ...fake, client };
}

describe("the real OpenAI SDK on responses", () => {
  it("accumulates from the stream what it gets without streaming", async () => {
    const { client } = withSdk([
      started,
      { type: "thinking", delta: "hm" },
      text("Hello"),
      text(" 🌊"),
      usage,
      finished("Hello 🌊"),
    ]);
    const stream = client.responses.stream({ model: "test-model", input: "Hi" });
    const streamed = await stream.finalResponse();
    const whole = await client.responses.create({ model: "test-model", input: "Hi", user: "x" });
    expect(streamed.output_text).toBe("Hello 🌊");
    expect(whole.output_text).toBe("Hello 🌊");
    expect(streamed.output.map((item) => item.type)).toEqual(["reasoning", "message"]);
    expect(streamed.output.map((item) => item.type)).toEqual(whole.output.map((item) => item.type));
    expect(streamed.usage).toEqual(whole.usage);
    expect(streamed.status).toBe("completed");
  });

  it("gets functions and custom tools apart, each call with its own ids", async () => {
    proves("responses.custom-tools", "responses.call-ids");
    const { client, turns } = withSdk([
      started,
      call("c1", "weather", ""),
      call("c2", "apply_patch", "*** Begin"),
      finished(""),
    ]);
    const tools = [
      { type: "function" as const, name: "weather", parameters: {}, strict: false },
      { type: "custom" as const, name: "apply_patch" },
    ];
    const { output } = await client.responses.stream({ model: "test-model", input: "Hi", tools }).finalResponse();
    expect(output).toMatchObject([
      { type: "function_call", call_id: "c1", name: "weather", arguments: "{}", status: "completed" },
      { type: "custom_tool_call", call_id: "c2", name: "apply_patch", input: "*** Begin" },
    ]);
    expect(new Set(output.map((item) => item.id)).size).toBe(2);
    expect(turns.started[0]?.request.tools.map((tool) => tool.kind)).toEqual(["function", "freeform"]);
  });

  it("continues from a stored response with nothing but a tool's output", async () => {
    proves("responses.previous");
    const { client, turns } = withSdk([
      started,
      text("Looking."),
      call("c1", "weather", '{"city":"Graz"}'),
      finished("Looking."),
    ]);
    const tools = [{ type: "function" as const, name: "weather", parameters: {}, strict: false }];
    const first = await client.responses.create({
      model: "test-model",
      instructions: "Be brief.",
      input: "Rain?",
      tools,
    });
    turns.script = () => [started, text("Yes."), finished("Yes.")];
    const output = [{ type: "function_call_output" as const, call_id: "c1", output: "rain" }];
    const second = await client.responses.create({
      model: "test-model",
      previous_response_id: first.id,
      input: output,
      tools,
    });
    expect(second.output_text).toBe("Yes.");
    expect(second.previous_response_id).toBe(first.id);
    expect(turns.started[1]?.request.messages).toEqual([
      { role: "user", parts: [{ type: "text", text: "Rain?" }] },
      {
        role: "assistant",
        parts: [{ type: "text", text: "Looking." }],
        toolCalls: [{ callId: "c1", name: "weather", arguments: '{"city":"Graz"}', kind: "function" }],
      },
      { role: "tool", callId: "c1", parts: [{ type: "text", text: "rain" }], isError: false },
    ]);
    const third = await client.responses.create({
      model: "test-model",
      previous_response_id: second.id,
      input: "And now?",
    });
    expect(third.output_text).toBe("Yes.");
    expect(turns.started[2]?.request.messages).toHaveLength(5);
    const { data } = await client.responses.inputItems.list(second.id);
    expect(data).toMatchObject([{ type: "function_call_output", call_id: "c1", output: "rain" }]);
  });

  it("gives the same background question twice two responses, and is one turn only where the first answer was lost", async () => {
    const fake = withSdk([started, text("Hal")]);
    const json = { model: "test-model", input: "Hi", background: true };
    const lost = await fake.request(path, { json });
    await lost.body?.cancel();
    const first = await fake.request(path, { json });
    expect(first.headers.get("x-millrace-joined")).toBe("implicit");
    const { id } = (await first.json()) as { id: string };
    expect(fake.turns.started).toHaveLength(1);
    const second = await fake.client.responses.create({ model: "test-model", input: "Hi", background: true });
    expect(second.id).not.toBe(id);
    expect(fake.turns.started).toHaveLength(2);
  });

  it("never repeats an answer that was retrieved whole", async () => {
    const fake = withSdk([started, text("one")]);
    const json = { model: "test-model", input: "Hi", stream: true };
    const stream = await fake.request(path, { json });
    const turnId = fake.turns.turnId(0);
    await stream.body?.cancel();
    const url = `${path}/${turnId.replace("turn_", "resp_")}`;
    expect(await (await fake.request(url)).json()).toMatchObject({ status: "in_progress" });
    expect(fake.turns.delivered(turnId)).toBe(false);
    fake.turns.emit(turnId, finished("one"));
    expect(await (await fake.request(url)).json()).toMatchObject({ status: "completed" });
    expect(fake.turns.delivered(turnId)).toBe(true);
    expect((await fake.request(path, { json })).headers.get("x-millrace-joined")).toBe("no");
  });

  it("retrieves, cancels and deletes", async () => {
    const { client, turns } = withSdk([started, text("Hal")]);
    const created = await client.responses.create({ model: "test-model", input: "Hi", background: true });
    expect(["queued", "in_progress"]).toContain(created.status);
    expect(turns.started[0]?.graceMs).toBe(Number.POSITIVE_INFINITY);
    const running = await client.responses.retrieve(created.id);
    expect(running).toMatchObject({ id: created.id, status: "in_progress", output_text: "Hal" });
    expect((await client.responses.cancel(created.id)).status).toBe("cancelled");
    expect((await client.responses.cancel(created.id)).status).toBe("cancelled");
    await client.responses.delete(created.id);
    await expect(client.responses.retrieve(created.id)).rejects.toMatchObject({ status: 404 });
  });

  it("follows a background response from any event, with an accumulator that starts there", async () => {
    const { client, turns } = withSdk([started, text("one "), text("two ")]);
    const created = await client.responses.create({ model: "test-model", input: "Hi", background: true });
    turns.emit(turns.turnId(0), { type: "thinking", delta: "hm" }, text("three"), usage, finished("one two three"));
    const whole = await client.responses.stream({ response_id: created.id }).finalResponse();
    expect(whole.output_text).toBe("one two three");
    const { headers } = await client.responses
      .retrieve(created.id, { stream: true, starting_after: 3 })
      .withResponse()
      .then(({ response }) => response);
    expect(headers.get("x-millrace-expires")).not.toBeNull();
    for (let after = 0; after < 22; after++) {
      const events = await client.responses.retrieve(created.id, { stream: true, starting_after: after });
      const [read, folded] = events.tee();
      const numbers: number[] = [];
      for await (const event of read) numbers.push(event.sequence_number);
      expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, i) => after + i));
      const accumulated = await ResponseStream.fromReadableStream(folded.toReadableStream()).finalResponse();
      expect(accumulated.output_text).toBe("one two three");
      expect(accumulated.output).toHaveLength(3);
    }
  });

  it("takes heartbeats in the middle of an item", async () => {
    const fake = withSdk([started, text("one")]);
    const stream = fake.client.responses.stream({ model: "test-model", input: "Hi" });
    const beats: number[] = [];
    let last = -1;
    const beaten = new Promise<void>((resolve) => {
      stream.on("event", (event) => {
        if (event.type === "response.in_progress" && event.sequence_number > 1) resolve();
        if (event.sequence_number < last) beats.push(event.sequence_number);
        last = event.sequence_number;
      });
    });
    await new Promise<void>((resolve) => stream.on("response.output_text.delta", () => resolve()));
    await fake.clock.advance(9_500);
    fake.turns.alive(fake.turns.turnId(0));
    await fake.clock.advance(1_500);
    await beaten;
    fake.turns.emit(fake.turns.turnId(0), text(" two"), finished("one two"));
    expect((await stream.finalResponse()).output_text).toBe("one two");
    expect(beats).toEqual([]);
  });

  it("says incomplete for an answer that was cut, and throws what failed", async () => {
    const { client, turns } = withSdk([started, text("Once"), finished("Once", "length")]);
    const cut = await client.responses.create({ model: "test-model", input: "Hi" });
    expect(cut).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
    turns.script = () => [
      started,
      text("Hal"),
      { type: "failed", error: { code: "upstream_failed", message: "It broke.", hint: "" } },
    ];
    const events = await client.responses.create({ model: "test-model", input: "Hi", stream: true });
    const types: string[] = [];
    for await (const event of events) types.push(event.type);
    expect(types.at(-1)).toBe("response.failed");
  });
});

const lookUp = { type: "function", name: "look_up", parameters: {} };
const onlyAllows = (type: string) => ({ type: "allowed_tools", mode: "required", tools: [{ type }] });

describe("responses", () => {
  async function create(fake: FakeGateway, body: Record<string, unknown>) {
    return fake.request(path, { json: { model: "test-model", ...body } });
  }

  it.each(["/v1/responses", "/responses", "/v1/response", "/v1/responses/"])("are created at %s", async (route) => {
    proves("responses.aliases");
    const { request } = withSdk();
    const response = await request(route, { json: { model: "test-model", input: "Hi" } });
    expect(await response.json()).toMatchObject({ object: "response", status: "completed" });
  });

  it("take what Codex sends: hosted tools left out by name, namespaces flattened and given back", async () => {
    proves("responses.codex-defaults");
    const fake = withSdk([started, call("c1", "mcp__files__read", "{}"), finished("")]);
    const response = await create(fake, {
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "Rules" }] },
        { role: "user", content: "Hi" },
      ],
      store: false,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "k",
      client_metadata: {},
      tools: [
        { type: "web_search", external_web_access: false },
        { type: "local_shell" },
        {
          type: "namespace",
          name: "mcp__files",
          description: "",
          tools: [{ type: "function", name: "read", parameters: {} }],
        },
      ],
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-millrace-ignored-tools")).toBe("web_search, local_shell");
    const body = (await response.json()) as { id: string; output: unknown[] };
    expect(body.output).toMatchObject([{ type: "function_call", namespace: "mcp__files", name: "read" }]);
    expect(fake.turns.started[0]?.request.messages.map((message) => message.role)).toEqual(["system", "user"]);
    expect((await fake.request(`${path}/${body.id}`)).status).toBe(404);
  });

  it.each([
    ["tools[0]", "code_interpreter", [{ type: "code_interpreter", container: { type: "auto" } }, lookUp], "auto"],
    ["tools[1]", "mcp", [lookUp, { type: "mcp", server_label: "x", server_url: "https://x.example" }], undefined],
    ["tools[0]", "web_search", [{ type: "web_search" }], undefined],
    [
      "tools[0].tools[0]",
      "file_search",
      [{ type: "namespace", name: "n", tools: [{ type: "file_search" }] }],
      undefined,
    ],
    ["tool_choice", "web_search", [{ type: "web_search" }, lookUp], { type: "web_search" }],
    ["tool_choice", "web_search", [{ type: "web_search" }, lookUp], onlyAllows("web_search")],
  ])("refuse the hosted tool at %s by its name, %s, and say what to do", async (param, type, tools, choice) => {
    proves("responses.codex-defaults");
    const fake = withSdk();
    const response = await create(fake, {
      input: "x",
      tools,
      ...(choice === undefined ? {} : { tool_choice: choice }),
    });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; param: string; hint: string } };
    expect(error.param).toBe(param);
    expect(error.message).toContain(`\`${type}\``);
    expect(error.hint).toContain("a tool of your own");
    expect(fake.turns.started).toEqual([]);
  });

  it("put what the assistant thought, said and called in a row into one message", async () => {
    const fake = withSdk();
    await create(fake, {
      input: [
        { role: "user", content: "Hi" },
        { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: null },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "Looking." }] },
        { type: "function_call", call_id: "a", name: "read", arguments: "{}", namespace: "files" },
        { type: "custom_tool_call", call_id: "b", name: "patch", input: "x" },
        { type: "function_call_output", call_id: "a", output: [{ type: "input_text", text: "A" }] },
        { type: "custom_tool_call_output", call_id: "b", output: "B" },
        { type: "web_search_call", id: "ws_1", status: "completed" },
        { role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AAAA" }] },
      ],
    });
    expect(fake.turns.started[0]?.request.messages).toMatchObject([
      { role: "user" },
      {
        role: "assistant",
        thinking: "hm",
        parts: [{ text: "Looking." }],
        toolCalls: [
          { callId: "a", name: "files__read", kind: "function" },
          { callId: "b", name: "patch", kind: "freeform" },
        ],
      },
      { role: "tool", callId: "a" },
      { role: "tool", callId: "b" },
      { role: "user", parts: [{ type: "image" }] },
    ]);
  });

  it.each([
    ["input", { input: [] }],
    ["input[0].call_id", { input: [{ type: "function_call_output", output: "x" }] }],
    ["input[0].type", { input: [{ type: "telepathy" }] }],
    ["input[0]", { input: [{ type: "item_reference", id: "x" }] }],
    ["input[0].content[0]", { input: [{ role: "user", content: [{ type: "input_file", file_id: "x" }] }] }],
    ["tool_choice.name", { input: "x", tool_choice: { type: "function" } }],
    ["conversation", { input: "x", conversation: "conv_1" }],
    ["prompt", { input: "x", prompt: { id: "p" } }],
    ["store", { input: "x", background: true, store: false }],
    ["previous_response_id", { input: "x", previous_response_id: 5 }],
    ["tools[0].name", { input: "x", tools: [{ type: "function" }] }],
  ])("refuse %s by name", async (param, body) => {
    const response = await create(withSdk(), body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param } });
  });

  it("answer 404 to an unknown previous response, and to another caller's", async () => {
    proves("responses.previous");
    const fake = withSdk();
    const { id } = (await (await create(fake, { input: "x" })).json()) as { id: string };
    expect((await create(fake, { input: "x", previous_response_id: "resp_nothing" })).status).toBe(404);
    const guest = { headers: { authorization: `Bearer ${guestKey}` } };
    const body = { model: "test-model", input: "x", previous_response_id: id };
    expect((await fake.request(path, { json: body, ...guest })).status).toBe(404);
    expect((await fake.request(`${path}/${id}`, guest)).status).toBe(404);
  });

  it("refuse to continue from one that has not finished", async () => {
    const fake = withSdk([started, text("Hal")]);
    const { id } = (await (await create(fake, { input: "x", background: true })).json()) as { id: string };
    const response = await create(fake, { input: "y", previous_response_id: id });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "previous_response_id" } });
  });

  it("resume a stream by Last-Event-ID too", async () => {
    const fake = withSdk();
    const { id } = (await (await create(fake, { input: "x" })).json()) as { id: string };
    const whole = await new SseReader(await fake.request(`${path}/${id}?stream=true`)).rest();
    const headers = { "last-event-id": whole[3]?.id ?? "" };
    const rest = await new SseReader(await fake.request(`${path}/${id}?stream=true`, { headers })).rest();
    expect(rest).toEqual(whole.slice(4));
    expect((await fake.request(`${path}/${id}?stream=true&starting_after=x`)).status).toBe(400);
    const done = { "last-event-id": whole.at(-1)?.id ?? "" };
    expect((await fake.request(`${path}/${id}?stream=true`, { headers: done })).status).toBe(204);
    const [turnId] = (whole[0]?.id ?? "").split(":");
    for (const cursor of ["junk", "turn_01jxt21q00nbyn9mxr69rx7kqd:a1:0", `${turnId}:b99:0`]) {
      const response = await fake.request(`${path}/${id}?stream=true`, { headers: { "last-event-id": cursor } });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param: "last-event-id" } });
    }
  });

  it("have the ids of the whole stream from any starting_after on, and continue from those", async () => {
    const fake = withSdk([started, text("one "), text("two"), finished("one two")]);
    const { id } = (await (await create(fake, { input: "x" })).json()) as { id: string };
    const url = `${path}/${id}?stream=true`;
    const whole = await new SseReader(await fake.request(url)).rest();
    for (let after = 0; after < whole.length - 1; after++) {
      const from = `${url}&starting_after=${after}`;
      const [snapshot, ...rest] = await new SseReader(await fake.request(from)).rest();
      expect(snapshot).toMatchObject({ event: "response.created", id: whole[after]?.id });
      expect(rest).toEqual(whole.slice(after + 1));
      const headers = { "last-event-id": whole[after]?.id ?? "" }; // as one that reconnects by itself asks again
      expect(await new SseReader(await fake.request(from, { headers })).rest()).toEqual(rest);
    }
  });

  it("refuse a starting_after that no event has had yet, and say so before the stream", async () => {
    const fake = withSdk([started, text("Hal")]);
    const { id } = (await (await create(fake, { input: "x", background: true })).json()) as { id: string };
    for (const after of [5, 99]) {
      const response = await fake.request(`${path}/${id}?stream=true&starting_after=${after}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param: "starting_after" } });
    }
    const reader = new SseReader(await fake.request(`${path}/${id}?stream=true&starting_after=4`));
    expect(await reader.next()).toMatchObject({ event: "response.created" }); // at once, though nothing new has come
    fake.turns.emit(fake.turns.turnId(0), finished("Hal"));
    expect((await reader.rest()).at(-2)?.event).toBe("response.completed");
  });
});
