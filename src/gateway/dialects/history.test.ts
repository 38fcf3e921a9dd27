import { describe, expect, it } from "vitest";
import type { TurnRequest } from "../../log/request.ts";
import { anthropicMessages } from "./anthropic-messages/encode.ts";
import type { Dialect } from "./dialect.ts";
import { ollama } from "./ollama/encode.ts";
import { openAiChat } from "./openai-chat/encode.ts";
import { openAiResponses } from "./openai-responses/encode.ts";

const pdf = Buffer.from("%PDF-1.4\n%%EOF").toString("base64");
const pdfUrl = `data:application/pdf;base64,${pdf}`;
const note = "that this gateway cannot read; extract its text with a command";

type Part = Readonly<Record<string, unknown>>;

interface Api {
  readonly name: string;
  readonly dialect: Dialect;
  /** A body whose history and newest user message hold these parts. */
  readonly body: (history: readonly Part[], newest?: readonly Part[]) => unknown;
  /** One with the result of a tool as the last message. */
  readonly result: (parts: readonly Part[]) => unknown;
  readonly text: (text: string) => Part;
  readonly files: readonly Part[];
}

const call = { id: "c", type: "function", function: { name: "t", arguments: "{}" } };
const apis: readonly Api[] = [
  {
    name: "Chat Completions",
    dialect: openAiChat,
    body: (history, newest = [{ type: "text", text: "now" }]) => ({
      model: "m",
      messages: [
        { role: "user", content: history },
        { role: "assistant", content: "It failed." },
        { role: "user", content: newest },
      ],
    }),
    result: (content) => ({
      model: "m",
      messages: [
        { role: "user", content: "x" },
        { role: "assistant", tool_calls: [call] },
        { role: "tool", tool_call_id: "c", content },
      ],
    }),
    text: (text) => ({ type: "text", text }),
    files: [
      { type: "file", file: { filename: "a.pdf", file_data: pdfUrl } },
      { type: "file", file: { file_id: "file-1" } },
      { type: "input_audio", input_audio: { data: "", format: "wav" } },
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
    ],
  },
  {
    name: "Responses",
    dialect: openAiResponses,
    body: (history, newest = [{ type: "input_text", text: "now" }]) => ({
      model: "m",
      input: [
        { role: "user", content: history },
        { role: "assistant", content: "It failed." },
        { role: "user", content: newest },
      ],
    }),
    result: (output) => ({
      model: "m",
      input: [
        { role: "user", content: "x" },
        { type: "function_call", call_id: "c", name: "t", arguments: "{}" },
        { type: "function_call_output", call_id: "c", output },
      ],
    }),
    text: (text) => ({ type: "input_text", text }),
    files: [
      { type: "input_file", filename: "a.pdf", file_data: pdfUrl },
      { type: "input_file", file_url: "https://example.com/a.pdf" },
      { type: "input_file", file_id: "file-1" },
      { type: "input_image", file_id: "file-2" },
    ],
  },
  {
    name: "Messages",
    dialect: anthropicMessages,
    body: (history, newest = [{ type: "text", text: "now" }]) => ({
      model: "m",
      messages: [
        { role: "user", content: history },
        { role: "assistant", content: "It failed." },
        { role: "user", content: newest },
      ],
    }),
    result: (content) => ({
      model: "m",
      messages: [
        { role: "user", content: "x" },
        { role: "assistant", content: [{ type: "tool_use", id: "c", name: "t", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content }] },
      ],
    }),
    text: (text) => ({ type: "text", text }),
    files: [
      { type: "document", title: "a.pdf", source: { type: "base64", media_type: "application/pdf", data: pdf } },
      { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } },
      { type: "document", source: { type: "file", file_id: "file-1" } },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "" } },
    ],
  },
];

function textsOf({ messages }: TurnRequest): string {
  return messages
    .flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : part.mimeType)))
    .join("\n");
}

describe.each(apis)("a history of $name", ({ dialect, body, result, text, files }) => {
  it("has a note in the place of a file that cannot be read, also in the result of a tool", () => {
    for (const file of files) {
      for (const asked of [
        body([text("before"), file, text("after")]),
        result([text("before"), file, text("after")]),
      ]) {
        const parsed = dialect.parse(asked);
        expect(textsOf(parsed.request)).toMatch(/before\n\[[^\]]* that this gateway cannot read[^\]]*\]\nafter/);
        expect(parsed.leftOut).toEqual([file.type]);
      }
    }
    expect(textsOf(dialect.parse(body([files[0] ?? {}])).request)).toContain(`[a.pdf: a PDF ${note}]`);
  });

  it("has the note in the newest message too, also alone: the conversation goes on", () => {
    for (const file of files)
      for (const newest of [[text("see"), file], [file]])
        expect(textsOf(dialect.parse(body([text("x")], newest)).request)).toMatch(
          /\[[^\]]* that this gateway cannot read[^\]]*\]$/,
        );
  });

  it("leaves out blocks that nobody knows or that are broken, anywhere, and names them", () => {
    for (const odd of [{ type: "hologram", x: 1 }, { type: "text", text: [] }, { no: "type" }, 5, null]) {
      const parsed = dialect.parse(body([text("before"), odd as Part, text("after")]));
      expect(textsOf(parsed.request)).toContain("before\nafter");
      expect(parsed.leftOut).toHaveLength(1);
    }
    const newest = dialect.parse(body([text("x")], [text("now"), { type: "hologram" }]));
    expect(newest.leftOut).toEqual(["hologram"]);
    expect(() => dialect.parse(body([text("x")], [{ type: "hologram" }]))).toThrow(/hologram/);
  });

  it("keeps names of what was left out few and short", () => {
    const odd = Array.from({ length: 100 }, (_, i) => ({ type: `${i}${"x".repeat(1_000)}` }));
    const { leftOut = [] } = dialect.parse(body([text("before"), ...odd]));
    expect(leftOut.length).toBeLessThanOrEqual(20);
    expect(Math.max(...leftOut.map(({ length }) => length))).toBeLessThanOrEqual(60);
  });

  it("reads a file of text", () => {
    const data = Buffer.from("héllo").toString("base64");
    const forms: Readonly<Record<string, Part>> = {
      "Chat Completions": { type: "file", file: { filename: "a.txt", file_data: `data:text/plain;base64,${data}` } },
      Responses: { type: "input_file", filename: "a.json", file_data: `data:application/json;base64,${data}` },
      Messages: { type: "document", source: { type: "base64", media_type: "text/plain", data } },
    };
    const [name = ""] = apis.filter((api) => api.dialect === dialect).map((api) => api.name);
    const { request } = dialect.parse(body([text("x")], [forms[name] ?? {}]));
    expect(textsOf(request)).toContain("héllo");
  });
});

describe("messages of a role that nobody knows", () => {
  it.each([
    ["Chat Completions", openAiChat, "messages"],
    ["Messages", anthropicMessages, "messages"],
    ["Ollama", ollama, "messages"],
    ["Responses", openAiResponses, "input"],
  ])("are left out in %s", (_, dialect, member) => {
    const odd = { role: "critic", content: "tut" };
    const parsed = dialect.parse({ model: "m", [member]: [odd, { role: "user", content: "hi" }] });
    expect(parsed.request.messages).toEqual([{ role: "user", parts: [{ type: "text", text: "hi" }] }]);
    expect(parsed.leftOut).toEqual(["message of critic"]);
    expect(() => dialect.parse({ model: "m", [member]: [odd] })).toThrow(/critic/);
  });
});

describe("items of Responses", () => {
  const parse = (items: readonly unknown[], more: object = {}) =>
    openAiResponses.parse({ model: "m", input: [...items, { role: "user", content: "now" }], ...more });

  it("of a client's own bookkeeping are left out and named", () => {
    const types = ["ghost_snapshot", "web_search_call", "configuration_update", "compaction_trigger"];
    const { request, leftOut } = parse([...types.map((type) => ({ type })), { nothing: 1 }, 7, null]);
    expect(request.messages).toHaveLength(1);
    expect(leftOut).toEqual([...types, "item"]);
  });

  it("between agents are the user's message, with every text that is plain", () => {
    const sealed = `gAAAAA${"Bx0_".repeat(40)}`;
    const content = [
      { type: "input_text", text: "Type: NEW_TASK\n" },
      { type: "encrypted_content", encrypted_content: "PAYLOAD 7" },
      { type: "encrypted_content", encrypted_content: sealed },
    ];
    const { request, leftOut } = parse([{ type: "agent_message", author: "/lead", recipient: "/lead/probe", content }]);
    expect(textsOf(request)).toBe("/lead → /lead/probe:\n\nType: NEW_TASK\n\nPAYLOAD 7\nnow");
    expect(leftOut).toEqual(["encrypted_content"]);
  });

  it.each([
    [{ type: "context_compaction", summary: "We built a bridge." }],
    [{ type: "compaction_summary", summary: [{ type: "summary_text", text: "We built a bridge." }] }],
    [{ type: "compaction", encrypted_content: "We built a bridge." }],
    [{ type: "context_compaction", content: [{ type: "output_text", text: "We built a bridge." }] }],
  ])("that stand for an earlier part keep their text: %j", (item) => {
    const { request, leftOut } = parse([item]);
    expect(textsOf(request)).toMatch(/^Notes of the conversation[^]*We built a bridge\.\nnow$/);
    expect(leftOut).toEqual([]);
  });

  it("bring tools, of which the newest of a name counts; what nobody here runs is named", () => {
    const tool = (name: string, description: string) => ({ type: "function", name, description, parameters: {} });
    const added = [tool("a", "new"), { type: "namespace", name: "f", tools: [{ type: "custom", name: "exec" }] }, 5];
    const items = [
      { type: "additional_tools", role: "developer", tools: [...added, { type: "web_search" }] },
      { type: "tool_search_output", tools: [tool("b", "found")] },
    ];
    const { request, ignoredTools } = parse(items, { tools: [tool("a", "old")] });
    expect(request.tools.map(({ name, description }) => [name, description])).toEqual([
      ["a", "new"],
      ["f__exec", ""],
      ["b", "found"],
    ]);
    expect(ignoredTools).toEqual(["web_search"]);
  });
});

describe("directives inside a conversation of Messages", () => {
  const tool = (name: string) => ({ name, input_schema: { type: "object" } });
  const parse = (...system: readonly object[]) =>
    anthropicMessages.parse({
      model: "m",
      tools: [tool("a"), tool("b")],
      output_config: { effort: "medium" },
      messages: [{ role: "user", content: "x" }, ...system.map((one) => ({ role: "system", ...one }))],
    });
  const names = ({ request }: ReturnType<typeof parse>) => request.tools.map(({ name }) => name);
  const reference = (name: string) => ({ type: "tool_reference", name });

  it("choose the effort, the last one", () => {
    const effort = (level: string) => ({ content: [], output_config: { effort: level } });
    expect(parse().request.reasoningEffort).toBe("medium");
    const parsed = parse(effort("high"), effort("low"));
    expect(parsed.request.reasoningEffort).toBe("low");
    expect(parsed.request.messages).toHaveLength(1);
  });

  it("take tools out, add them again, and define new ones", () => {
    const removal = { type: "tool_removal", tool: reference("a") };
    const addition = { type: "tool_addition", tool: reference("a") };
    const definition = { type: "tool_definition", definition: tool("c") };
    expect(names(parse({ content: [removal] }))).toEqual(["b"]);
    expect(names(parse({ content: [removal] }, { content: [addition] }))).toEqual(["a", "b"]);
    const held = { type: "mid_conv_system", content: [{ type: "text", text: "Less." }, removal] };
    const parsed = parse({ content: [held, { type: "tool_addition", tool: definition }] });
    expect(names(parsed)).toEqual(["b", "c"]);
    expect(textsOf(parsed.request)).toBe("x\nLess.");
    expect(parsed.leftOut).toEqual([]);
  });
});

describe("a hosted tool", () => {
  const own = { type: "function", name: "a", function: { name: "a" }, input_schema: {}, parameters: {} };
  const types = ["web_search_20250305", "tool_search_tool_regex_20251119", "code_interpreter", "mcp"];

  it.each([
    ["Chat Completions", openAiChat, "messages", "choice"],
    ["Responses", openAiResponses, "input", "choice"],
    ["Messages", anthropicMessages, "messages", "named"],
  ])(
    "is left out beside the client's own, and the model is told of it where the request wants nothing else, in %s",
    (...api) => {
      const [, dialect, member, how] = api;
      const body = (tools: readonly object[], more: object = {}) =>
        dialect.parse({ model: "m", [member]: [{ role: "user", content: "x" }], tools, ...more });
      for (const type of types) {
        const hosted = { type, name: type };
        const mine = how === "named" ? { name: "a", input_schema: {} } : own;
        const { request, ignoredTools } = body([hosted, mine]);
        expect(request.tools.map(({ name }) => name)).toEqual(["a"]);
        expect(ignoredTools).toEqual([type]);
        const choice = how === "named" ? { type: "tool", name: type } : { type };
        for (const parsed of [body([hosted]), body([hosted, mine], { tool_choice: choice })]) {
          expect([parsed.ignoredTools, parsed.request.toolChoice]).toEqual([[type], { type: "auto" }]);
          expect(textsOf(parsed.request)).toContain(
            `These tools are not available here, so answer without them: ${type}.`,
          );
        }
        expect(textsOf(request)).not.toContain("not available");
      }
    },
  );
});
