import { describe, expect, it } from "vitest";
import { proves } from "../../../../test/support/proves.ts";
import { MillraceError } from "../../../base/errors.ts";
import { parseChatRequest } from "./request.ts";

const hello = [{ role: "user", content: "Hello" }];
const weather = { type: "function", function: { name: "weather", parameters: { type: "object" }, strict: true } };

function parse(body: Readonly<Record<string, unknown>>) {
  return parseChatRequest({ model: "m", messages: hello, ...body }).request;
}

function refusalOf(body: unknown): MillraceError {
  try {
    parseChatRequest(body);
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error("was not refused");
}

describe("parseChatRequest", () => {
  it("takes every role, with content as text or as parts", () => {
    proves("chat.content-parts", "chat.developer", "chat.null-content");
    const image = { type: "image_url", image_url: { url: "data:image/PNG;base64,iVBORw0KGgo=" } };
    const { messages } = parse({
      messages: [
        { role: "system", content: [{ type: "text", text: "Be brief." }] },
        { role: "developer", content: "Be kind." },
        { role: "user", content: [{ type: "text", text: "Look" }, image] },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: '{"a":1}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: [{ type: "text", text: "rain" }] },
        { role: "assistant", content: "It rains.", reasoning_content: "easy" },
      ],
    });
    expect(messages).toEqual([
      { role: "system", parts: [{ type: "text", text: "Be brief." }] },
      { role: "system", parts: [{ type: "text", text: "Be kind." }] },
      {
        role: "user",
        parts: [
          { type: "text", text: "Look" },
          { type: "image", mimeType: "image/png", base64: "iVBORw0KGgo=" },
        ],
      },
      {
        role: "assistant",
        parts: [],
        toolCalls: [{ callId: "c1", name: "weather", arguments: '{"a":1}', kind: "function" }],
      },
      { role: "tool", callId: "c1", parts: [{ type: "text", text: "rain" }], isError: false },
      { role: "assistant", parts: [{ type: "text", text: "It rains." }], thinking: "easy", toolCalls: [] },
    ]);
  });

  it("takes system messages anywhere, and the same role twice in a row", () => {
    proves("chat.any-order");
    const roles = ["user", "user", "system", "assistant", "assistant", "system"];
    const messages = roles.map((role) => ({ role, content: "x" }));
    expect(parse({ messages }).messages.map((message) => message.role)).toEqual(roles);
  });

  it("keeps several tool results in order, each with its call's id", () => {
    proves("chat.tool-results");
    const calls = ["a", "b"].map((id) => ({ id, type: "function", function: { name: "weather", arguments: "" } }));
    const results = ["a", "b"].map((id) => ({ role: "tool", tool_call_id: id, content: id }));
    const { messages } = parse({ messages: [...hello, { role: "assistant", tool_calls: calls }, ...results] });
    expect(messages.slice(2).map((message) => message.role === "tool" && message.callId)).toEqual(["a", "b"]);
    expect(messages[1]).toMatchObject({ toolCalls: [{ arguments: "{}" }, { arguments: "{}" }] });
  });

  it("pairs the functions of the older API by name", () => {
    const { messages, tools, toolChoice } = parse({
      functions: [{ name: "now" }],
      function_call: { name: "now" },
      messages: [
        ...hello,
        { role: "assistant", content: null, function_call: { name: "now", arguments: "{}" } },
        { role: "function", name: "now", content: "noon" },
      ],
    });
    expect(tools).toMatchObject([{ name: "now", kind: "function", parameters: { type: "object" } }]);
    expect(toolChoice).toEqual({ type: "named", name: "now" });
    expect(messages[1]).toMatchObject({ toolCalls: [{ callId: "function_now" }] });
    expect(messages[2]).toMatchObject({ callId: "function_now" });
  });

  it.each([
    ["n", { n: 2 }],
    ["logprobs", { logprobs: true }],
    ["top_logprobs", { top_logprobs: 5 }],
    ["audio", { audio: { voice: "alloy" } }],
    ["modalities", { modalities: ["text", "audio"] }],
    ["tool_choice", { tools: [weather], tool_choice: { type: "function", function: { name: "other" } } }],
    ["stop", { stop: ["a", "b", "c", "d", "e"] }],
    ["max_tokens", { max_tokens: 1.5 }],
    ["stream", { stream: "yes" }],
    ["messages", { messages: [] }],
    ["messages", { messages: [{ role: "wizard", content: "x" }] }],
    ["messages[0].content", { messages: [{ role: "user", content: 7 }] }],
    ["messages[0].content[0].text", { messages: [{ role: "user", content: [{ type: "text", text: [] }] }] }],
    ["tools[0].function.name", { tools: [{ type: "function", function: {} }] }],
    ["model", { model: 5 }],
  ])("refuses %s by name", (param, body) => {
    proves("chat.refused-by-name");
    const refusal = refusalOf({ model: "m", messages: hello, ...body });
    expect(refusal).toMatchObject({ code: "invalid_request", param });
    expect(refusal.message).toContain(param);
  });

  it("tells the model of what it cannot have, in place of a refusal", () => {
    const said = (body: object) => JSON.stringify(parse({ model: "m", messages: hello, ...body }).messages);
    expect(said({ web_search_options: {} })).toContain("answer without them: web_search.");
    const url = "https://example.com/a.png";
    const shown = said({ messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }] });
    expect(shown).toContain(`[an image at ${url} that this gateway cannot read]`);
  });

  it.each([[null], [[]], ["text"], [42]])("refuses a body that is %j", (body) => {
    expect(refusalOf(body)).toMatchObject({ code: "invalid_request" });
  });

  it("ignores hints, and null where a field is left out", () => {
    proves("chat.hints-ignored");
    const hints = {
      store: true,
      metadata: { a: "b" },
      service_tier: "auto",
      prompt_cache_key: "k",
      seed: 7,
      user: "u",
      n: 1,
      logprobs: false,
    };
    const nulls = {
      temperature: null,
      max_tokens: null,
      stop: null,
      tools: null,
      tool_choice: null,
      response_format: null,
      stream_options: null,
    };
    expect(parse({ ...hints, ...nulls, verbosity: "low", brand_new: {} })).toEqual(parse({}));
  });

  it("takes either name of the token limit, the newer first", () => {
    proves("chat.token-limits");
    expect(parse({ max_tokens: 10 }).maxOutputTokens).toBe(10);
    expect(parse({ max_tokens: 10, max_completion_tokens: 20 }).maxOutputTokens).toBe(20);
  });

  it("understands every tool choice, also with no tools at all", () => {
    proves("chat.tool-choice");
    const choose = (tool_choice: unknown, tools: unknown = [weather]) => parse({ tools, tool_choice }).toolChoice;
    expect(choose("none")).toEqual({ type: "none" });
    expect(choose("required")).toEqual({ type: "required" });
    expect(choose({ type: "function", function: { name: "weather" } })).toEqual({ type: "named", name: "weather" });
    expect(choose("required", [])).toEqual({ type: "auto" });
    const allowed = { mode: "required", tools: [{ type: "function", function: { name: "weather" } }] };
    expect(choose({ type: "allowed_tools", allowed_tools: allowed })).toEqual({ type: "required" });
  });

  it("takes custom tools as freeform ones", () => {
    const { tools, messages } = parse({
      tools: [{ type: "custom", custom: { name: "apply_patch", format: { type: "text" } } }],
      messages: [
        ...hello,
        { role: "assistant", tool_calls: [{ id: "c", type: "custom", custom: { name: "apply_patch", input: "***" } }] },
      ],
    });
    expect(tools[0]).toMatchObject({ kind: "freeform", name: "apply_patch" });
    expect(messages[1]).toMatchObject({ toolCalls: [{ kind: "freeform", arguments: "***" }] });
  });

  it("takes stop as a text or a list", () => {
    proves("chat.stop");
    expect(parse({ stop: "END" }).stop).toEqual(["END"]);
    expect(parse({ stop: ["a", ""] }).stop).toEqual(["a"]);
  });

  it("keeps the schema of a structured answer", () => {
    proves("chat.response-format");
    const response_format = {
      type: "json_schema",
      json_schema: { name: "n", schema: { type: "object" }, strict: true },
    };
    expect(parse({ response_format }).responseFormat).toEqual({
      type: "json_schema",
      name: "n",
      schema: { type: "object" },
      strict: true,
    });
  });
});
