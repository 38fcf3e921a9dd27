import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import { ask, messages, path, tools, withSdk } from "./messages.fake.ts";

const search = { type: "web_search_20250305", name: "web_search" };

describe("messages", () => {
  async function parsed(body: Record<string, unknown>) {
    const fake = withSdk();
    const response = await fake.request(path, { json: { ...ask, ...body } });
    expect(response.status).toBe(200);
    return fake.turns.started[0]?.request;
  }

  it.each(["/v1/messages", "/messages", "/v1/messages?beta=true", "/v1/v1/messages"])(
    "are created at %s",
    async (route) => {
      proves("messages.request-id");
      const { request } = withSdk();
      const response = await request(route, { json: ask });
      expect(await response.json()).toMatchObject({ type: "message", model: "test-model", content: [{ text: "Hi" }] });
      expect(response.headers.get("request-id")).toBe(response.headers.get("x-request-id"));
    },
  );

  it("take the key in either header, and need no anthropic-version", async () => {
    proves("messages.auth");
    const { request } = withSdk();
    const withHeaders = async (headers: Record<string, string>) => (await request(path, { json: ask, headers })).status;
    expect(await withHeaders({ authorization: "", "x-api-key": fakeKey })).toBe(200);
    expect(await withHeaders({ authorization: "" })).toBe(401);
  });

  it("take what Claude Code sends", async () => {
    proves("messages.system", "messages.betas");
    const request = await parsed({
      system: [
        { type: "text", text: "x-anthropic-billing-header: cc_version=2.1; cch=a1b2" },
        { type: "text", text: "You are helpful.", cache_control: { type: "ephemeral" } },
      ],
      messages: [
        { role: "user", content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }] },
        { role: "system", content: "Reminder" },
      ],
      thinking: { type: "adaptive", display: "updates" },
      output_config: { effort: "xhigh" },
      context_management: { edits: [{ type: "clear_thinking" }] },
      metadata: { user_id: '{"session_id":"s"}' },
      tools: [
        { name: "Bash", description: "Runs", input_schema: { type: "object" }, defer_loading: true },
        { type: "advisor_20260301", name: "advisor", model: "claude-opus-4-6" },
      ],
    });
    expect(request?.messages).toEqual([
      { role: "system", parts: [{ type: "text", text: "You are helpful." }] },
      { role: "user", parts: [{ type: "text", text: "Hi" }] },
      { role: "system", parts: [{ type: "text", text: "Reminder" }] },
    ]);
    expect(request?.reasoningEffort).toBe("xhigh");
    expect(request?.tools.map((tool) => tool.name)).toEqual(["Bash"]);
  });

  it("keep several tool results together, before the text that came with them", async () => {
    proves("messages.tool-results", "messages.no-forged-signature");
    const request = await parsed({
      messages: [
        ...messages,
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "unsigned", signature: "" },
            { type: "thinking", thinking: "signed", signature: "c2ln" },
            { type: "redacted_thinking", data: "x" },
            { type: "text", text: "Looking." },
            { type: "tool_use", id: "a", name: "weather", input: { city: "Graz" } },
            { type: "tool_use", id: "b", name: "weather", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "text", text: "Go on." },
            { type: "tool_result", tool_use_id: "a", content: "rain" },
            {
              type: "tool_result",
              tool_use_id: "b",
              is_error: true,
              content: [
                { type: "text", text: "no" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
              ],
            },
          ],
        },
      ],
    });
    expect(request?.messages.slice(1)).toEqual([
      {
        role: "assistant",
        thinking: "signed",
        parts: [{ type: "text", text: "Looking." }],
        toolCalls: [
          { callId: "a", name: "weather", arguments: '{"city":"Graz"}', kind: "function" },
          { callId: "b", name: "weather", arguments: "{}", kind: "function" },
        ],
      },
      { role: "tool", callId: "a", parts: [{ type: "text", text: "rain" }], isError: false },
      {
        role: "tool",
        callId: "b",
        parts: [
          { type: "text", text: "no" },
          { type: "image", mimeType: "image/png", base64: "AAAA" },
        ],
        isError: true,
      },
      { role: "user", parts: [{ type: "text", text: "Go on." }] },
    ]);
  });

  it("read what a search found: the names of tools, and passages with their source", async () => {
    const content = [
      { type: "tool_reference", tool_name: "WebSearch" },
      { type: "search_result", source: "a.md", title: "A", content: [{ type: "text", text: "It rains." }] },
    ];
    const request = await parsed({
      tools,
      messages: [
        ...messages,
        { role: "assistant", content: [{ type: "tool_use", id: "a", name: "weather", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content }] },
      ],
    });
    expect(request?.messages.at(-1)?.parts).toEqual([
      { type: "text", text: "The tool WebSearch can be called now." },
      { type: "text", text: "A, a.md" },
      { type: "text", text: "It rains." },
    ]);
  });

  it("read text documents and ignore blocks of types that they do not know", async () => {
    const document = {
      type: "document",
      title: "Notes",
      source: { type: "text", media_type: "text/plain", data: "It rains." },
    };
    const request = await parsed({ messages: [{ role: "user", content: [document, { type: "hologram", data: 1 }] }] });
    const parts = request?.messages[0]?.parts.map((part) => (part.type === "text" ? part.text : ""));
    expect(parts).toEqual(["Notes\n", "It rains."]);
  });

  it("offer the tools that the API defines and the client runs, with their form", async () => {
    const given = ["bash_20250124", "text_editor_20250728", "memory_20250818"].map((type) => ({ type, name: type }));
    const { tools: offered } = (await parsed({ tools: given })) ?? { tools: [] };
    expect(offered.map(({ name }) => name)).toEqual(given.map(({ name }) => name));
    expect(offered[0]?.parameters).toMatchObject({ properties: { command: { type: "string" } } });
    for (const { parameters } of offered.slice(1)) {
      expect(parameters).toMatchObject({ properties: { command: { enum: expect.arrayContaining(["str_replace"]) } } });
    }
  });

  it("turn tool choice, effort and format into ours", async () => {
    expect(
      (await parsed({ tools, tool_choice: { type: "any", disable_parallel_tool_use: true } }))?.toolChoice,
    ).toEqual({ type: "required" });
    expect((await parsed({ tools, tool_choice: { type: "tool", name: "weather" } }))?.toolChoice).toEqual({
      type: "named",
      name: "weather",
    });
    expect((await parsed({ thinking: { type: "enabled", budget_tokens: 32_000 } }))?.reasoningEffort).toBe("high");
    expect((await parsed({ thinking: { type: "disabled" } }))?.reasoningEffort).toBeUndefined();
    const format = { type: "json_schema", schema: { type: "object" } };
    expect((await parsed({ output_config: { format } }))?.responseFormat).toMatchObject({ type: "json_schema" });
  });

  it.each([
    ["messages", { messages: [] }],
    ["messages[0].content", { messages: [{ role: "user", content: 5 }] }],
    ["tools[0].input_schema", { tools: [{ name: "x" }] }],
    ["tool_choice", { tools, tool_choice: { type: "tool", name: "other" } }],
    ["max_tokens", { max_tokens: "many" }],
  ])("refuse %s by name, in Anthropic's shape", async (param, body) => {
    proves("messages.errors");
    const { request } = withSdk();
    const response = await request(path, { json: { ...ask, ...body } });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", param },
      request_id: response.headers.get("request-id"),
    });
  });

  it.each([
    [search.type, { tools: [search] }],
    [search.type, { tools: [...tools, search], tool_choice: { type: "tool", name: "web_search" } }],
    ["mcp_servers", { mcp_servers: [{ type: "url", url: "https://x.example", name: "x" }] }],
  ])("tell the model of the hosted tool that it cannot have, %s", async (type, body) => {
    const { request, turns } = withSdk();
    const response = await request(path, { json: { ...ask, ...body } });
    expect([response.status, response.headers.get("x-millrace-ignored-tools")]).toEqual([200, type]);
    expect(turns.started[0]?.request.toolChoice).toEqual({ type: "auto" });
    expect(JSON.stringify(turns.started[0]?.request.messages)).toContain(`without them: ${type}.`);
  });

  it("leave out by name what a client offers beside its own tools and does not need", async () => {
    const { request, turns } = withSdk();
    const advisor = { type: "advisor_20260301", name: "advisor" };
    const response = await request(path, { json: { ...ask, tools: [...tools, advisor, advisor, search] } });
    expect(response.headers.get("x-millrace-ignored-tools")).toBe("advisor_20260301, web_search_20250305");
    expect(turns.started[0]?.request.tools.map((tool) => tool.name)).toEqual(["weather"]);
  });

  it("answer Claude Code's quota probe without a turn, and nothing else", async () => {
    proves("messages.model-ids");
    const { request, turns } = withSdk();
    const probe = { model: "claude-anything", max_tokens: 1, messages: [{ role: "user", content: "quota" }] };
    const response = await request(path, { json: probe });
    expect(await response.json()).toMatchObject({
      type: "message",
      model: "claude-anything",
      stop_reason: "max_tokens",
    });
    expect(turns.started).toEqual([]);
    await request(path, { json: { ...probe, model: "test-model", max_tokens: 2 } });
    expect(turns.started).toHaveLength(1);
  });

  it("find the model behind the id that the list gave it, and echo the id", async () => {
    proves("messages.request-id", "messages.model-ids");
    const fake = withSdk();
    const response = await fake.request(path, { json: { ...ask, model: "anthropic/test-model" } });
    expect(await response.json()).toMatchObject({ model: "anthropic/test-model" });
    expect(fake.turns.started[0]?.request.model).toBe("test-model");
  });

  it("are too large in their own shape", async () => {
    proves("http.body-size");
    const { request } = fakeGateway({ maxBodyBytes: 100 });
    const response = await request(path, { method: "POST", body: "x".repeat(101) });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ type: "error" });
  });
});
