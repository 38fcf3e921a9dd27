import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TurnEventBody } from "../log/event.ts";
import { fakeGateway } from "./gateway.fake.ts";

const answer: TurnEventBody[] = [
  { type: "text", delta: "Hi" },
  { type: "finished", reason: { unified: "stop", raw: undefined }, text: "Hi" },
];
const parameters = { type: "object", properties: { city: { type: "string" } } };
const dataUrl = "data:image/png;base64,iVBORw0KGgo=";

/** Bodies of the shapes that real clients send, every field that a parser looks at among them. */
const bodies: Readonly<Record<string, unknown>> = {
  "/v1/chat/completions": {
    model: "test-model",
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 100,
    max_completion_tokens: 100,
    n: 1,
    stop: ["END"],
    reasoning_effort: "high",
    logprobs: false,
    modalities: ["text"],
    parallel_tool_calls: true,
    response_format: { type: "json_schema", json_schema: { name: "n", schema: parameters, strict: true } },
    tools: [
      { type: "function", function: { name: "weather", description: "d", parameters } },
      { type: "custom", custom: { name: "patch", format: { type: "text" } } },
    ],
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "weather" } }] },
    },
    functions: [{ name: "old", parameters }],
    function_call: { name: "old" },
    messages: [
      { role: "system", content: [{ type: "text", text: "s" }] },
      {
        role: "user",
        content: [
          { type: "text", text: "u" },
          { type: "image_url", image_url: { url: dataUrl } },
        ],
      },
      {
        role: "assistant",
        content: null,
        reasoning: {},
        tool_calls: [{ id: "c", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: "rain" },
      { role: "assistant", content: "a", function_call: { name: "old", arguments: "{}" } },
      { role: "function", name: "old", content: "x" },
    ],
  },
  "/v1/messages": {
    model: "test-model",
    max_tokens: 100,
    stream: true,
    system: [{ type: "text", text: "s", cache_control: { type: "ephemeral" } }],
    thinking: { type: "enabled", budget_tokens: 2048 },
    output_config: { effort: "high", format: { type: "json_schema", schema: parameters } },
    stop_sequences: ["END"],
    metadata: { user_id: "u" },
    tools: [
      { name: "weather", input_schema: parameters },
      { type: "advisor_20260301", name: "advisor" },
    ],
    tool_choice: { type: "tool", name: "weather", disable_parallel_tool_use: true },
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "u" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "t", signature: "s" },
          { type: "tool_use", id: "a", name: "weather", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", is_error: false, content: [{ type: "text", text: "r" }] },
          { type: "document", source: { type: "text", data: "d" } },
        ],
      },
    ],
  },
  "/v1/messages/count_tokens": {
    model: "test-model",
    messages: [{ role: "user", content: "u" }],
    system: "s",
    tools: [],
  },
  "/v1/responses": {
    model: "test-model",
    stream: true,
    store: true,
    instructions: "i",
    previous_response_id: null,
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "low", summary: "auto" },
    text: { format: { type: "json_schema", name: "n", schema: parameters, strict: true }, verbosity: "low" },
    metadata: { a: "b" },
    max_output_tokens: 100,
    tools: [
      { type: "function", name: "weather", parameters, strict: false },
      { type: "custom", name: "patch", format: { type: "grammar", syntax: "lark", definition: "x" } },
      { type: "namespace", name: "ns", tools: [{ type: "function", name: "inner" }] },
      { type: "web_search" },
    ],
    tool_choice: { type: "function", name: "weather" },
    input: [
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "u" },
          { type: "input_image", image_url: dataUrl },
        ],
      },
      { type: "reasoning", summary: [{ type: "summary_text", text: "t" }] },
      { role: "assistant", content: [{ type: "output_text", text: "a" }] },
      { type: "function_call", call_id: "c", name: "weather", arguments: "{}" },
      { type: "custom_tool_call", call_id: "d", name: "patch", input: "p" },
      { type: "function_call_output", call_id: "c", output: "rain" },
      { type: "custom_tool_call_output", call_id: "d", output: [{ type: "input_text", text: "ok" }] },
    ],
  },
};

type Path = readonly (string | number)[];

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [
    path,
    ...Object.entries(value).flatMap(([key, inner]) =>
      pathsOf(inner, [...path, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

/** The body with another value at a path, or with nothing there. */
function changed(body: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const copy = structuredClone(body) as Record<string | number, unknown>; // the path was found in it
  copy[key] = changed(copy[key], rest, value);
  return copy;
}

const hostile = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(
    undefined,
    null,
    "",
    0,
    -1,
    1e308,
    true,
    [],
    {},
    [[]],
    [null],
    { type: "text" },
    { type: "function" },
    "__proto__",
    "x".repeat(5000),
    { __proto__: null, toString: 1 },
  ),
);
const knownTypes = new Set(
  "invalid_request_error not_found_error permission_error authentication_error request_too_large".split(" "),
);

describe.each(Object.entries(bodies))("%s, fuzzed", (path, body) => {
  const places = pathsOf(body);

  it("is accepted as it is", async () => {
    const { request, turns } = fakeGateway();
    turns.script = () => answer;
    const response = await request(path, { json: body });
    expect(response.status).toBe(200);
  });

  it("answers any change of any fields with 200 or a 4xx in its own shape, never a 5xx", async () => {
    const { request, turns, logged } = fakeGateway();
    turns.script = () => answer;
    const change = fc.tuple(fc.nat(places.length - 1), hostile);
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        let json = body;
        for (const [at, value] of changes) {
          const path = places[at] ?? [];
          if (pathsOf(json).some((own) => own.join("/") === path.join("/"))) json = changed(json, path, value);
        }
        const response = await request(path, { method: "POST", body: JSON.stringify(json) ?? "" });
        const text = await response.text();
        expect(response.status === 200 || (response.status >= 400 && response.status < 500)).toBe(true);
        const { error } = (
          response.status === 200 ? { error: { type: "invalid_request_error" } } : JSON.parse(text)
        ) as { error: { type: string } };
        expect(knownTypes).toContain(error.type);
      }),
      { numRuns: 150 },
    );
    expect(logged.filter((line) => line.event === "unexpected error")).toEqual([]);
  });

  it("answers any bytes at all with a 4xx", async () => {
    const { request } = fakeGateway();
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const response = await request(path, { method: "POST", body: bytes });
        expect(response.status).toBe(400);
      }),
      { numRuns: 50 },
    );
  });

  it("survives deeply nested JSON", async () => {
    const { request } = fakeGateway();
    for (const field of ["messages", "input", "metadata", "anything"]) {
      const deep = `{"model":"test-model","${field}":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
      expect((await request(path, { method: "POST", body: deep })).status).toBe(400);
    }
    const fields = JSON.stringify(body).slice(1);
    const deep = `{"anything":${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)},${fields}`;
    expect((await request(path, { method: "POST", body: deep })).status).toBe(400);
  });
});
