import { describe, expect, it } from "vitest";
import { anthropicMessages } from "./anthropic-messages/encode.ts";
import { gemini } from "./gemini/encode.ts";
import { ollama } from "./ollama/encode.ts";
import { openAiChat } from "./openai-chat/encode.ts";
import { openAiResponses } from "./openai-responses/encode.ts";

const messages = [{ role: "user", content: "x" }];
const parameters = { type: "object", properties: {} };
const apis = [
  {
    name: "Chat Completions",
    dialect: openAiChat,
    body: { messages },
    own: { type: "function", function: { name: "t", parameters } },
    none: "none",
    limit: (max_tokens: number) => ({ max_tokens }),
  },
  {
    name: "Responses",
    dialect: openAiResponses,
    body: { input: "x" },
    own: { type: "function", name: "t", parameters },
    none: "none",
    limit: (max_output_tokens: number) => ({ max_output_tokens }),
  },
  {
    name: "Messages",
    dialect: anthropicMessages,
    body: { messages },
    own: { name: "t", input_schema: parameters },
    none: { type: "none" },
    limit: (max_tokens: number) => ({ max_tokens }),
  },
  {
    name: "Ollama",
    dialect: ollama,
    body: { messages },
    own: { type: "function", function: { name: "t", parameters } },
    none: undefined,
    limit: (num_predict: number) => ({ options: { num_predict } }),
  },
  {
    name: "Gemini",
    dialect: gemini,
    body: { contents: "x" },
    own: { functionDeclarations: [{ name: "t", parameters }] },
    none: undefined,
    limit: (maxOutputTokens: number) => ({ generationConfig: { maxOutputTokens } }),
  },
] as const;

const types = [
  "web_search",
  "web_search_20260209",
  "file_search",
  "code_interpreter",
  "computer",
  "local_shell",
  "shell",
  "apply_patch",
  "tool_search_tool_regex_20251119",
  "mcp_toolset",
  "builtin_function",
  "x_search",
  "hologram",
];

describe.each(apis)("a tool that only a vendor's API has, in $name", ({ dialect, body, own, none, limit }) => {
  const parse = (more: object) => dialect.parse({ model: "m", max_tokens: 9, ...body, ...more });
  const hosted = (type: string) => ({ type, name: type });

  it.each(types)(
    "%s is left out beside own tools, and where none may be called; alone the model is told of it",
    (type) => {
      const beside = parse({ tools: [own, hosted(type)] });
      expect([beside.ignoredTools, beside.request.tools.length]).toEqual([[type], 1]);
      const alone = parse({ tools: [hosted(type)] });
      expect([alone.ignoredTools, alone.request.tools]).toEqual([[type], []]);
      expect(JSON.stringify(alone.request.messages[0])).toContain(`answer without them: ${type}.`);
      if (none === undefined) return;
      const uncalled = parse({ tools: [hosted(type)], tool_choice: none });
      expect([uncalled.ignoredTools, uncalled.request.tools]).toEqual([[type], []]);
    },
  );

  it.each(["googleSearch", "codeExecution", "urlContext"])(
    "%s of Google's API, named by its only member, is one",
    (name) => {
      const beside = parse({ tools: [own, { [name]: {} }] });
      expect([beside.ignoredTools, beside.request.tools.length]).toEqual([[name], 1]);
      expect(parse({ tools: [{ [name]: {} }] }).ignoredTools).toEqual([name]);
    },
  );

  it("a limit that no answer reaches is one that the IDE can take", () => {
    for (const [given, taken] of [
      [1e10, 2 ** 31 - 1],
      [4096, 4096],
      [0, 0],
    ] as const)
      expect(parse(limit(given)).request.maxOutputTokens).toBe(taken);
  });
});

describe.each(apis)("a tool in the form of another API, in $name", ({ dialect, body }) => {
  const parse = (more: object) => dialect.parse({ model: "m", max_tokens: 9, ...body, ...more }).request;
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const made = { name: "t", description: "Does it.", kind: "function", parameters: schema };
  const about = { name: "t", description: "Does it." };

  it.each([
    { type: "function", function: { ...about, parameters: schema } },
    { function: { ...about, parameters: schema } },
    { type: "function", function: { ...about, input_schema: schema } },
    { type: "function", ...about, parameters: schema },
    { ...about, parameters: schema },
    { ...about, input_schema: schema },
    { type: "custom", ...about, input_schema: schema },
    { type: null, ...about, input_schema: schema, cache_control: { type: "ephemeral" } },
    { ...about, inputSchema: schema },
  ])("%j is read", (tool) => {
    expect(parse({ tools: [tool] }).tools).toEqual([made]);
  });

  it.each([{}, { name: "t" }, { description: "x" }, { functionDeclarations: [about] }])(
    "%j is refused, with the right form",
    (tool) => {
      if (dialect === gemini && !("name" in tool)) return; // its own form, or none of a tool
      expect(() => parse({ tools: [tool] })).toThrow(
        expect.objectContaining({
          message: expect.stringMatching(/^tools\[0\]/),
          hint: expect.stringContaining('"name":"…"'),
        }),
      );
    },
  );

  it.each([
    ["auto", "auto"],
    ["any", "required"],
    ["required", "required"],
    ["none", "none"],
    [{ type: "auto" }, "auto"],
    [{ type: "any" }, "required"],
    [{ type: "required" }, "required"],
    [{ type: "none" }, "none"],
    [{ type: "tool", name: "t" }, "named"],
    [{ type: "function", name: "t" }, "named"],
    [{ type: "function", function: { name: "t" } }, "named"],
  ])("the choice %j means the same", (choice, type) => {
    if (dialect === ollama || dialect === gemini) return; // other members
    expect(parse({ tools: [{ ...about, input_schema: schema }], tool_choice: choice }).toolChoice.type).toBe(type);
  });
});
