import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import { type FakeGateway, guestKey } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import { call, path, withSdk } from "./responses.fake.ts";

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
    ["code_interpreter", [{ type: "code_interpreter", container: { type: "auto" } }], "auto"],
    ["mcp", [{ type: "mcp", server_label: "x", server_url: "https://x.example" }], undefined],
    ["web_search", [{ type: "web_search" }], undefined],
    ["file_search", [{ type: "namespace", name: "n", tools: [{ type: "file_search" }] }], undefined],
    ["web_search", [{ type: "web_search" }, lookUp], { type: "web_search" }],
    ["web_search", [{ type: "web_search" }, lookUp], onlyAllows("web_search")],
  ])("tell the model of the hosted tool that it cannot have, %s", async (type, tools, choice) => {
    proves("responses.codex-defaults");
    const fake = withSdk();
    const response = await create(fake, {
      input: "x",
      tools,
      ...(choice === undefined ? {} : { tool_choice: choice }),
    });
    expect([response.status, response.headers.get("x-millrace-ignored-tools")]).toEqual([200, type]);
    const [note] = fake.turns.started[0]?.request.messages ?? [];
    expect(note).toMatchObject({
      role: "system",
      parts: [{ text: expect.stringContaining(`without them: ${type}.`) }],
    });
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
    ["input", { input: [{ type: "telepathy" }] }],
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
      const rest = await new SseReader(await fake.request(from)).rest();
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
    fake.turns.emit(fake.turns.turnId(0), finished("Hal"));
    expect((await reader.rest()).at(-2)?.event).toBe("response.completed");
  });
});
