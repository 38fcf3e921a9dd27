import { describe, expect, it } from "vitest";
import { anthropicMessages } from "./anthropic-messages/encode.ts";
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

  it.each(types)("%s is left out beside own tools, and where none may be called; alone it is refused truly", (type) => {
    const beside = parse({ tools: [own, hosted(type)] });
    expect([beside.ignoredTools, beside.request.tools.length]).toEqual([[type], 1]);
    expect(() => parse({ tools: [hosted(type)] })).toThrow(/tools\[0\].*only its vendor's API can offer it/);
    if (none === undefined) return;
    const uncalled = parse({ tools: [hosted(type)], tool_choice: none });
    expect([uncalled.ignoredTools, uncalled.request.tools]).toEqual([[type], []]);
  });

  it("a limit that no answer reaches is one that the IDE can take", () => {
    for (const [given, taken] of [
      [1e10, 2 ** 31 - 1],
      [4096, 4096],
      [0, 0],
    ] as const)
      expect(parse(limit(given)).request.maxOutputTokens).toBe(taken);
  });
});
