import { describe, expect, it } from "vitest";
import { anthropicMessages } from "./anthropic-messages/encode.ts";
import { gemini } from "./gemini/encode.ts";
import { ollama } from "./ollama/encode.ts";
import { openAiChat } from "./openai-chat/encode.ts";
import { openAiResponses } from "./openai-responses/encode.ts";

/* Programs and proxies send the members of one API to another. Where the meaning is beyond doubt they are read, the same in every API. */

const png = "iVBORw0KGgo=";
const url = `data:image/png;base64,${png}`;
const image = { type: "image", mimeType: "image/png", base64: png };
const apis = [
  { name: "Chat Completions", dialect: openAiChat, member: "messages" },
  { name: "Responses", dialect: openAiResponses, member: "input" },
  { name: "Messages", dialect: anthropicMessages, member: "messages" },
  { name: "Ollama", dialect: ollama, member: "messages" },
  { name: "Gemini", dialect: gemini, member: "contents" },
] as const;

describe.each(apis)("$name", ({ dialect, member }) => {
  const parse = (messages: readonly object[], more: object = {}) =>
    dialect.parse({ model: "m", max_tokens: 9, [member]: messages, ...more });
  const user = (...content: unknown[]) => ({ role: "user", content });
  const said = { type: "text", text: "x" };

  it.each([
    { type: "image_url", image_url: { url } },
    { type: "image_url", image_url: url },
    { type: "input_image", image_url: url },
    { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
    { type: "file", file: { file_data: url } },
    { type: "input_file", file_data: url },
    { type: "document", source: { type: "base64", media_type: "image/png", data: png } },
  ])("reads the picture of the newest message: $type", (part) => {
    const { request, leftOut } = parse([user(said, part)]);
    expect([leftOut, request.messages[0]?.parts]).toEqual([[], [said, image]]);
  });

  it.each(["input_text", "output_text", "text", "bare"])("reads the text of the newest message: %s", (type) => {
    const { request } = parse([user(type === "bare" ? "x" : { type, text: "x" })]);
    expect(request.messages[0]?.parts).toEqual([said]);
  });

  it.each([
    [{ text: "x" }],
    ["x", null],
    [[said]],
    [{ type: "text", text: null }, said],
    [{ type: "text", text: { value: "x", annotations: [] } }],
    [{ type: "text", content: "x" }],
    [said, { type: "text", text: [] }],
    [said, { type: "hologram" }],
    [said, { type: "refusal" }, { type: "tool_reference" }, { type: "file" }, 5, {}],
  ])("reads what it can of the newest message: %j", (...content) => {
    const [first] = parse([user(...content)]).request.messages;
    expect(first?.parts.slice(0, 1)).toEqual([said]);
  });

  it("reads a part alone as a content", () => {
    expect(parse([{ role: "user", content: { text: "x" } }]).request.messages).toMatchObject([{ parts: [said] }]);
  });

  it.each([
    { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
    { type: "audio", source: {} },
    { type: "video", source: {} },
    { type: "video_url", video_url: { url: "https://example.com/a.mp4" } },
    { type: "input_video", video_url: "https://example.com/a.mp4" },
    { type: "container_upload", file_id: "f" },
    { type: "file", file: { file_id: "f" } },
    { type: "input_file", file_url: "https://example.com/a.pdf" },
    { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } },
  ])("has a note for the model in its place, in the newest message and in a history: $type", (part) => {
    for (const later of [[], [{ role: "assistant", content: "y" }, user(said)]]) {
      const { request, leftOut } = parse([user(said, part), ...later]);
      expect(leftOut).toEqual([part.type]);
      expect(JSON.stringify(request.messages[0]?.parts)).toContain("that this gateway cannot read");
    }
  });

  const result = { role: "tool", callId: "c", parts: [{ type: "text", text: "RESULT" }], isError: false };
  it.each([
    [
      {
        role: "assistant",
        content: "y",
        tool_calls: [{ id: "c", type: "function", function: { name: "t", arguments: '{"id":1}' } }],
      },
      { role: "tool", tool_call_id: "c", content: "RESULT" },
    ],
    [
      {
        role: "assistant",
        content: [
          { type: "text", text: "y" },
          { type: "tool_use", id: "c", name: "t", input: { id: 1 } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "RESULT" }] },
    ],
  ])("reads a call and its result: %#", (call, answer) => {
    if (dialect === ollama || dialect === gemini) return; // their calls are no such parts
    const { request, leftOut } = parse([user(said), call, answer]);
    expect(leftOut).toEqual([]);
    expect(request.messages.slice(1)).toEqual([
      {
        role: "assistant",
        parts: [{ type: "text", text: "y" }],
        toolCalls: [{ callId: "c", name: "t", arguments: '{"id":1}', kind: "function" }],
      },
      result,
    ]);
    for (const later of [[], [user(said)], [{ role: "assistant", content: "y" }, user(said)]]) {
      const cut = parse([user(said), answer, ...later]);
      expect(cut.leftOut).toEqual([]);
      expect(cut.request.messages[1]).toEqual({
        role: "user",
        parts: [{ type: "text", text: "Result of a tool:\n" }, ...result.parts],
      });
    }
  });

  it("reads the result of a call that is not here as the user's text, also alone and without an id", () => {
    if (dialect === gemini) return; // its own form of results is in its own tests
    for (const id of ["c9", "", null, undefined]) {
      const results = [
        { role: "tool", tool_call_id: id, name: "t", tool_name: "t", content: "NEWS" },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "NEWS" }] },
        { type: "function_call_output", call_id: id, name: "t", output: "NEWS" },
        { type: "custom_tool_call_output", call_id: id, output: [{ type: "input_text", text: "NEWS" }] },
      ].filter((one) => dialect === openAiResponses || !("type" in one));
      for (const one of results.slice(0, dialect === ollama ? 1 : undefined))
        for (const asked of [[one], [one, user(said)], [user(said), { role: "assistant", content: "y" }, one]]) {
          const { messages } = parse(asked).request;
          expect(messages.map(({ role }) => role)).not.toContain("tool");
          expect(JSON.stringify(messages.filter(({ role }) => role === "user"))).toContain("NEWS");
        }
    }
  });

  it("gives a result without an id to the open call of its name", () => {
    if (dialect === gemini) return; // its own form of results is in its own tests
    const [chat] = [
      [
        {
          role: "assistant",
          content: "",
          tool_calls: ["a", "b"].map((name) => ({
            id: `c-${name}`,
            type: "function",
            function: { name, arguments: "{}" },
          })),
        },
        { role: "tool", name: "b", tool_name: "b", content: "B" },
        { role: "tool", content: "A" },
      ],
    ];
    const { messages } = parse([user(said), ...chat]).request;
    expect(messages.slice(2)).toMatchObject([
      { role: "tool", callId: "c-b" },
      { role: "tool", callId: "c-a" },
    ]);
  });

  const schema = { type: "object", properties: {} };
  const form = { type: "json_schema", name: "n", schema };
  it.each([
    { response_format: { type: "json_schema", json_schema: { name: "n", schema } } },
    { response_format: form },
    { text: { format: form } },
    { text: { format: { type: "json_schema", json_schema: { name: "n", schema } } } },
    { output_config: { format: form } },
    { output_format: form },
  ])("reads the form of the answer: %j", (more) => {
    if (dialect === ollama || dialect === gemini) return; // their members are others
    expect(parse([user(said)], more).request.responseFormat).toMatchObject({ type: "json_schema", name: "n", schema });
  });

  it.each([
    [{ reasoning_effort: "high" }, "high"],
    [{ reasoning: { effort: "HIGH" } }, "high"],
    [{ output_config: { effort: " High " } }, "high"],
    [{ thinking: { type: "enabled", budget_tokens: 9_000 } }, "medium"],
    [{ reasoning_effort: "galactic" }, undefined],
  ])("reads the effort: %j", (more, effort) => {
    if (dialect === ollama || dialect === gemini) return;
    expect(parse([user(said)], more).request.reasoningEffort).toBe(effort);
  });
});

it("reads a result that names no call and whose call is not there, in Ollama's API", () => {
  const messages = [
    { role: "user", content: "x" },
    { role: "assistant", content: "" },
    { role: "tool", content: "R1" },
    { role: "tool", tool_name: "t", content: "R2" },
  ];
  const { request } = ollama.parse({ model: "m", messages });
  expect(request.messages.slice(2)).toMatchObject([
    { role: "user", parts: [{ text: "Result of a tool:\n" }, { text: "R1" }] },
    { role: "user", parts: [{ text: "Result of `t`:\n" }, { text: "R2" }] },
  ]);
});

it.each([
  [anthropicMessages, "system", { messages: [{ role: "user", content: "x" }] }],
  [openAiResponses, "instructions", { input: "x" }],
  [gemini, "systemInstruction", { contents: "x" }],
  [ollama, "system", { prompt: "x" }],
] as const)("a system text is a text, a part, or a list of them: %#", (dialect, member, asked) => {
  const one = { role: "system", parts: [{ type: "text", text: "S" }] };
  for (const system of ["S", { text: "S" }, ["S"], [{ text: "S" }], [{ type: "text", text: "S" }, null]])
    expect(dialect.parse({ model: "m", ...asked, [member]: system }).request.messages).toMatchObject([one, {}]);
  for (const none of [null, "", [], [null]])
    expect(dialect.parse({ model: "m", ...asked, [member]: none }).request.messages).toHaveLength(1);
});

it.each([
  [openAiChat, (response_format: unknown) => ({ messages: [{ role: "user", content: "x" }], response_format })],
  [openAiResponses, (format: unknown) => ({ input: "x", text: { format } })],
  [anthropicMessages, (format: unknown) => ({ messages: [{ role: "user", content: "x" }], output_format: format })],
  [ollama, (format: unknown) => ({ prompt: "x", format })],
] as const)("the form of an answer is a word, a type or a schema: %#", (dialect, body) => {
  const formatOf = (format: unknown) => dialect.parse({ model: "m", ...body(format) }).request.responseFormat;
  const schema = { type: "object", properties: {} };
  for (const none of [null, "", "text", {}, { type: "text" }]) expect(formatOf(none)).toEqual({ type: "text" });
  for (const json of ["json", "JSON", { type: "json_object" }]) expect(formatOf(json)).toEqual({ type: "json_object" });
  const schemas = [schema, { type: "json_object", schema }, { type: "json_schema", json_schema: { schema } }];
  for (const given of schemas) expect(formatOf(given)).toMatchObject({ type: "json_schema", schema });
  for (const unknown of ["xml", 5, [], { type: "grammar" }])
    expect(() => formatOf(unknown)).toThrow(expect.objectContaining({ code: "invalid_request" }));
});

it("takes a limit below zero for none", () => {
  const messages = [{ role: "user", content: "x" }];
  for (const limit of [{ max_tokens: -1 }, { max_completion_tokens: -1 }])
    expect(openAiChat.parse({ model: "m", messages, ...limit }).request.maxOutputTokens).toBeUndefined();
  expect(ollama.parse({ model: "m", messages, options: { num_predict: -1 } }).request.maxOutputTokens).toBeUndefined();
});

it.each([
  [openAiChat, { input: "x" }, "/v1/responses"],
  [openAiChat, { prompt: "x" }, "/v1/completions"],
  [openAiResponses, { messages: [{ role: "user", content: "x" }] }, "/v1/chat/completions"],
  [anthropicMessages, { input: "x" }, "/v1/responses"],
] as const)("a body of another API is sent there: %#", (dialect, body, path) => {
  expect(() => dialect.parse({ model: "m", ...body })).toThrow(
    expect.objectContaining({ hint: expect.stringContaining(path) }),
  );
});
