import { describe, expect, it } from "vitest";
import { writeJson } from "../../base/json.ts";
import type { Message } from "../../log/request.ts";
import { anthropicMessages } from "./anthropic-messages/encode.ts";
import type { Dialect } from "./dialect.ts";
import { ollama } from "./ollama/encode.ts";
import { openAiChat } from "./openai-chat/encode.ts";
import { openAiResponses } from "./openai-responses/encode.ts";

/*
 * Things that no dialect knows, and known ones in forms that they never have, at every place of a history. Whatever it is, the
 * conversation goes on, and its other texts, calls and results are still there, in order.
 */

const pdf = Buffer.from("%PDF-1.4\n%%EOF").toString("base64");

const oddBlocks: readonly unknown[] = [
  null,
  5,
  "bare",
  [],
  {},
  ...[null, 5, "", "hologram", "__proto__", "toString", "user", "message", "x".repeat(500)].map((type) => ({ type })),
  ...["text", "image", "image_url", "document", "file", "input_file", "input_image", "input_audio", "audio_url"].map(
    (type) => ({ type }),
  ),
  ...["thinking", "redacted_thinking", "reasoning", "refusal", "compaction", "search_result", "tool_reference"].map(
    (type) => ({ type }),
  ),
  { type: "text", text: null },
  { type: "input_text", text: 5 },
  { type: "server_tool_use", id: "s", name: "web_search", input: {} },
  { type: "web_search_tool_result", tool_use_id: "s", content: [] },
  { type: "mcp_tool_use", id: "m", name: "n", server_name: "s", input: {} },
  { type: "compaction", content: [{ type: "text", text: "x" }] },
  { type: "mid_conv_system", content: [{ type: "hologram" }] },
  { type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf }, title: 5 },
  { type: "document", source: { type: "content", content: 5 } },
  { type: "document", source: { type: "hologram" } },
  { type: "image", source: { type: "base64", media_type: 5, data: "" } },
  { type: "image_url", image_url: { url: "https://example.com/a.png" } },
  { type: "file", file: { file_data: 5 } },
  { type: "input_image", image_url: 5 },
];

const oddMessages: readonly unknown[] = [
  null,
  5,
  "bare",
  [],
  {},
  { content: "x" },
  ...[null, 5, "", "critic", "__proto__", "toString", "ipython"].map((role) => ({ role, content: "x" })),
  ...["user", "system", "developer", "assistant"].flatMap((role) =>
    [undefined, null, [], 5, {}].map((content) => ({ role, ...(content === undefined ? {} : { content }) })),
  ),
  { role: "assistant", content: "", reasoning_content: 5, refusal: 5, thinking: 5, images: 5 },
  { role: "system", content: [], output_config: 5 },
  { role: "system", content: [], output_config: { effort: 5 } },
];

const oddItems: readonly unknown[] = [
  ...oddMessages,
  ...oddBlocks,
  { type: "message", role: "critic", content: "x" },
  { type: "reasoning", summary: "x", encrypted_content: 5 },
  { type: "reasoning", summary: [5] },
  ...[undefined, null, 5, {}, [5, null, { type: "x" }], [{ type: "encrypted_content" }]].map((content) => ({
    type: "agent_message",
    author: 5,
    content,
  })),
  { type: "compaction", encrypted_content: "millrace.1.%%%" },
  { type: "compaction", encrypted_content: 5 },
  { type: "compaction_trigger" },
  { type: "additional_tools", tools: [null, 5, { type: "function" }, { type: "hologram" }] },
  { type: "tool_search_output", tools: "x" },
  { type: "local_shell_call", call_id: "alone", action: {} },
  { type: "computer_call_output", call_id: "alone", output: { type: "computer_screenshot" } },
  { type: "web_search_call", id: "ws_1", status: "completed", action: {} },
  { type: "mcp_approval_response", approval_request_id: "a", approve: true },
];

/** A call and its result as clients send them back: with one member of another type, empty, or not there. */
const oddCalls: readonly OddCall[] = [
  ...[undefined, null, 5, "", {}].map((id) => ({ id })),
  ...[undefined, null, 5, ""].map((name) => ({ name })),
  ...[undefined, null, 5, "", [1], '{"a":'].map((input) => ({ input })),
].map((odd) => ({ id: "odd", name: "t", input: "{}", ...odd }));

interface OddCall {
  readonly id: unknown;
  readonly name: unknown;
  readonly input: unknown;
}

interface Api {
  readonly dialect: Dialect;
  /** A conversation as a list, and how it is asked. */
  readonly history: () => unknown[];
  readonly body: (history: readonly unknown[]) => unknown;
  readonly odd: readonly unknown[];
  /** A call, and its result "ODD". */
  readonly pair: (call: OddCall) => readonly unknown[];
  /** The lists of blocks inside, but for the newest message's. */
  readonly inner: (history: readonly unknown[]) => readonly unknown[][];
}

type Holder = { readonly content: unknown[] };
const holder = (value: unknown) => value as Holder; // as the histories below have them
const text = (said: string) => [{ type: "text", text: said }];
const call = { id: "c", type: "function", function: { name: "t", arguments: '{"a":"CALLED"}' } };
const messagesBody = (messages: readonly unknown[]) => ({ model: "m", max_tokens: 9, messages });

const apis: Readonly<Record<string, Api>> = {
  "Chat Completions": {
    dialect: openAiChat,
    pair: ({ id, name, input }) => [
      { role: "assistant", tool_calls: [{ id, type: null, function: { name, arguments: input } }] },
      { role: "tool", tool_call_id: id, content: "ODD" },
    ],
    history: () => [
      { role: "user", content: text("ONE") },
      { role: "assistant", content: text("TWO"), tool_calls: [call] },
      { role: "tool", tool_call_id: "c", content: text("RESULT") },
      { role: "assistant", content: text("FOUR") },
      { role: "user", content: text("FIVE") },
    ],
    body: messagesBody,
    odd: oddMessages,
    inner: (history) => history.slice(0, -1).map((message) => holder(message).content),
  },
  Messages: {
    dialect: anthropicMessages,
    pair: ({ id, name, input }) => [
      { role: "assistant", content: [{ type: "tool_use", id, name, input }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "ODD", is_error: "no" }] },
    ],
    history: () => [
      { role: "user", content: text("ONE") },
      {
        role: "assistant",
        content: [...text("TWO"), { type: "tool_use", id: "c", name: "t", input: { a: "CALLED" } }],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: text("RESULT") }] },
      { role: "assistant", content: text("FOUR") },
      { role: "user", content: text("FIVE") },
    ],
    body: messagesBody,
    odd: oddMessages,
    inner: (history) => [
      ...history.slice(0, -1).map((message) => holder(message).content),
      holder(holder(history[2]).content[0]).content,
    ],
  },
  Ollama: {
    dialect: ollama,
    pair: ({ id, name, input }) => [
      { role: "assistant", tool_calls: [{ id, type: null, function: { name, arguments: input } }] },
      { role: "tool", tool_call_id: id, content: "ODD" },
    ],
    history: () => [
      { role: "user", content: text("ONE") },
      { role: "assistant", content: "TWO", tool_calls: [{ function: { name: "t", arguments: { a: "CALLED" } } }] },
      { role: "tool", content: text("RESULT") },
      { role: "assistant", content: "FOUR" },
      { role: "user", content: "FIVE" },
    ],
    body: messagesBody,
    odd: oddMessages,
    inner: (history) => [holder(history[0]).content, holder(history[2]).content],
  },
  Responses: {
    dialect: openAiResponses,
    pair: ({ id: call_id, name, input }) => [
      { type: "function_call", call_id, name, arguments: input, namespace: 5 },
      { type: "function_call_output", call_id, output: "ODD" },
    ],
    history: () => [
      { role: "user", content: text("ONE") },
      { role: "assistant", content: text("TWO") },
      { type: "function_call", call_id: "c", name: "t", arguments: '{"a":"CALLED"}' },
      { type: "function_call_output", call_id: "c", output: text("RESULT") },
      { role: "assistant", content: text("FOUR") },
      { role: "user", content: text("FIVE") },
    ],
    body: (input) => ({ model: "m", input }),
    odd: oddItems,
    inner: (history) => [holder(history[0]).content, holder(history[1]).content, holder(history[4]).content],
  },
};

const said = ["ONE", "TWO", "CALLED", "RESULT", "FOUR", "FIVE"];

function callIds(message: Message | undefined): readonly string[] {
  return message?.role === "assistant" ? message.toolCalls.map(({ callId }) => callId) : [];
}

function idOf(message: Message | undefined): string | undefined {
  return message?.role === "tool" ? message.callId : undefined;
}

/** What is missing of a conversation after its dialect has read it; the error's message if it was refused. */
function missing(api: Api, body: unknown): readonly string[] {
  try {
    const read = writeJson(api.dialect.parse(body).request.messages);
    let at = 0;
    return said.filter((one) => {
      const found = read.indexOf(one, at);
      at = Math.max(at, found);
      return found < 0;
    });
  } catch (error) {
    return [String(error)];
  }
}

describe.each(Object.entries(apis))("a history of %s", (_name, api) => {
  it("goes on beside every odd message, at every place before the newest one", () => {
    const failed: unknown[] = [];
    for (const odd of api.odd) {
      for (let at = 0; at < api.history().length - 1; at++) {
        const lost = missing(api, api.body(api.history().toSpliced(at, 0, odd)));
        if (lost.length > 0) failed.push([odd, at, lost]);
      }
    }
    expect(failed).toEqual([]);
  });

  it("goes on beside every odd block, in every list of blocks", () => {
    const failed: unknown[] = [];
    for (const odd of oddBlocks) {
      for (let list = 0; list < api.inner(api.history()).length; list++) {
        for (const at of [0, 99]) {
          const history = api.history();
          api.inner(history)[list]?.splice(at, 0, odd);
          const lost = missing(api, api.body(history));
          if (lost.length > 0) failed.push([odd, list, at, lost]);
        }
      }
    }
    expect(failed).toEqual([]);
  });

  it("goes on beside every odd call, and its result is at it", () => {
    for (const odd of oddCalls) {
      const body = api.body(api.history().toSpliced(1, 0, ...api.pair(odd)));
      expect([odd, missing(api, body)]).toEqual([odd, []]);
      const { messages } = api.dialect.parse(body).request;
      const at = messages.findIndex(({ parts }) => writeJson(parts).includes("ODD"));
      const isCall = odd.name === "t";
      const [before, result] = messages.slice(at - 1, at + 1);
      expect([odd, result?.role]).toEqual([odd, isCall ? "tool" : "user"]);
      const ids = callIds(before);
      expect([odd, idOf(result)]).toEqual([odd, isCall ? ids[0] : undefined]);
    }
  });

  it("is refused, and no prompt is made, where nothing of the newest message can be read", () => {
    const newest = (content: unknown) => [...api.history().slice(0, -1), { role: "user", content }];
    const hologram = [{ type: "hologram" }];
    expect(() => api.dialect.parse(api.body(newest(hologram)))).toThrow(/Nothing of the newest message.*hologram/);
    const first = [
      { role: "system", content: "S" },
      { role: "user", content: hologram },
    ];
    expect(() => api.dialect.parse(api.body(first))).toThrow(/Nothing of the newest message.*hologram/);
    expect(() => api.dialect.parse(api.body([{ role: "critic", content: "x" }]))).toThrow(/critic/);
    expect(() => api.dialect.parse(api.body(newest(5)))).toThrow(/content/);
  });
});

it("a PDF in a system text is a note there, in each API", () => {
  const source = { type: "base64", media_type: "application/pdf", data: pdf };
  const system = [
    { type: "text", text: "SYSTEM" },
    { type: "document", source },
  ];
  const parts = [{ type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` } }];
  const file = [{ type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` }];
  const ask = { role: "user", content: "x" };
  for (const [dialect, body] of [
    [anthropicMessages, { ...messagesBody([ask]), system }],
    [openAiChat, messagesBody([{ role: "system", content: parts }, ask])],
    [openAiResponses, { model: "m", input: [{ role: "developer", content: file }, ask] }],
  ] as const)
    expect(writeJson(dialect.parse(body).request.messages)).toContain("a PDF that this gateway cannot read");
});

it("the calls of other kinds that a client answered are calls, with their results", () => {
  const screenshot = { type: "computer_screenshot", image_url: "data:image/png;base64,iVBORw0KGgo=" };
  const action = { type: "exec", command: ["ls"] };
  const { request, leftOut } = openAiResponses.parse({
    model: "m",
    input: [
      { role: "user", content: "x" },
      { type: "local_shell_call", id: "lsh_1", call_id: "a", status: "completed", action },
      { type: "function_call_output", call_id: "a", output: "LISTED" },
      { type: "computer_call", call_id: "b", action: { type: "screenshot" } },
      { type: "computer_call_output", call_id: "b", output: screenshot },
      { type: "shell_call", call_id: "d", action: { commands: ["pwd"] } },
      { type: "shell_call_output", call_id: "d", output: [{ stdout: "HERE", stderr: "" }] },
    ],
  });
  expect(leftOut).toEqual([]);
  expect(request.messages.slice(1, 5)).toEqual([
    {
      role: "assistant",
      parts: [],
      toolCalls: [{ callId: "a", name: "local_shell", arguments: writeJson({ action }), kind: "function" }],
    },
    { role: "tool", callId: "a", parts: [{ type: "text", text: "LISTED" }], isError: false },
    expect.objectContaining({ role: "assistant" }),
    expect.objectContaining({ role: "tool", parts: [expect.objectContaining({ type: "image" })] }),
  ]);
  expect(writeJson(request.messages)).toContain("HERE");
});

it("a result that is neither text nor parts is kept as its JSON, in each API", () => {
  for (const result of [{ id: 7 }, [{ id: 7 }], 7, true]) {
    const bodies = [
      [
        openAiChat,
        messagesBody([
          { role: "assistant", tool_calls: [call] },
          { role: "tool", tool_call_id: "c", content: result },
        ]),
      ],
      [
        ollama,
        messagesBody([
          { role: "assistant", tool_calls: [call] },
          { role: "tool", content: result },
        ]),
      ],
      [
        anthropicMessages,
        messagesBody([
          { role: "assistant", content: [{ type: "tool_use", id: "c", name: "t", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: result }] },
        ]),
      ],
      [
        openAiResponses,
        {
          model: "m",
          input: [
            { type: "function_call", call_id: "c", name: "t", arguments: "{}" },
            { type: "function_call_output", call_id: "c", output: result },
          ],
        },
      ],
    ] as const;
    for (const [dialect, body] of bodies)
      expect(dialect.parse(body).request.messages.at(-1)?.parts).toEqual([{ type: "text", text: writeJson(result) }]);
  }
});
