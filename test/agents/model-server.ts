import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { isObject, type JsonObject } from "../../src/base/json.ts";
import { type Asked, isQuestion, readAsked, saidIn } from "./asked.ts";

/** A local server that plays the model behind a real agent, in the APIs that the agents speak. */
export interface ModelServer {
  /** Without a path: OpenAI's APIs are below `/v1`, Anthropic's and Google's at their usual places. */
  readonly url: string;
  /** All requests, in their order. */
  readonly requests: readonly Asked[];
  /** Requests whose conversation holds this text. */
  asked(part: string): readonly Asked[];
  /** Resolves when a held answer waits to go on. */
  held(): Promise<void>;
  release(): void;
  close(): Promise<void>;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly json: string;
}

/** How one API writes an answer as a stream. Each entry is the data of one event. */
interface Wire {
  readonly text: (delta: string, model: string) => readonly object[];
  readonly call: (call: Call, model: string) => readonly object[];
  readonly begin: (model: string) => readonly object[];
  readonly end: (isCall: boolean, model: string) => readonly (object | string)[];
}

const inputTokens = 11;
const outputTokens = 7;

const chatChunk = (model: string, delta: object, finish_reason: string | null = null) => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model,
  choices: [{ index: 0, delta, finish_reason }],
});
const chat: Wire = {
  begin: () => [],
  text: (content, model) => [chatChunk(model, { content })],
  call: ({ id, name, json }, model) => [
    chatChunk(model, {
      tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: json } }],
    }),
  ],
  end: (isCall, model) => [
    chatChunk(model, {}, isCall ? "tool_calls" : "stop"),
    {
      ...chatChunk(model, {}),
      choices: [],
      usage: { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens },
    },
    "[DONE]",
  ],
};

/** Codex reads the text of an item twice: as deltas, and whole once it is done. */
function responses(): Wire {
  let said = "";
  const items: object[] = [];
  const message = () => ({
    type: "message",
    id: "m1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: said, annotations: [] }],
  });
  const usage = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  return {
    begin: (model) => [{ type: "response.created", response: { id: "r1", model, status: "in_progress", output: [] } }],
    text(delta) {
      const first =
        said === ""
          ? [{ type: "response.output_item.added", output_index: 0, item: { ...message(), content: [] } }]
          : [];
      said += delta;
      return [
        ...first,
        { type: "response.output_text.delta", item_id: "m1", output_index: 0, content_index: 0, delta },
      ];
    },
    call({ id, name, json }) {
      // `apply_patch` and its like take text; `shell_command` and others take JSON.
      const item =
        name === "apply_patch"
          ? { type: "custom_tool_call", id: "f1", call_id: id, name, input: String(JSON.parse(json).input) }
          : { type: "function_call", id: "f1", call_id: id, ...withNamespace(name), arguments: json };
      items.push(item);
      return [{ type: "response.output_item.done", output_index: 0, item }];
    },
    end(isCall, model) {
      if (!isCall) items.push(message());
      const done = isCall ? [] : [{ type: "response.output_item.done", output_index: 0, item: message() }];
      return [
        ...done,
        { type: "response.completed", response: { id: "r1", model, status: "completed", output: items, usage } },
      ];
    },
  };
}

const messages: Wire = {
  begin: (model) => [
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model,
        content: [],
        stop_reason: null,
        usage: { input_tokens: inputTokens, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  ],
  text: (delta) => [{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: delta } }],
  call: ({ id, name, json }) => [
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: `tool${id}`, name, input: {} } },
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: json } },
  ],
  end: (isCall) => [
    { type: "content_block_stop", index: isCall ? 1 : 0 },
    {
      type: "message_delta",
      delta: { stop_reason: isCall ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: outputTokens },
    },
    { type: "message_stop" },
  ],
};

const part = (content: object, finishReason?: string) => ({
  candidates: [{ index: 0, content: { role: "model", parts: [content] }, ...(finishReason ? { finishReason } : {}) }],
  usageMetadata: {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens,
    totalTokenCount: inputTokens + outputTokens,
  },
});
const gemini: Wire = {
  begin: () => [],
  text: (delta) => [part({ text: delta })],
  call: ({ name, json }) => [part({ functionCall: { name, args: JSON.parse(json) as object } })],
  end: () => [part({ text: "" }, "STOP")],
};

const wires: readonly (readonly [RegExp, () => Wire])[] = [
  [/\/chat\/completions$/, () => chat],
  [/\/responses$/, responses],
  [/\/v1\/messages$/, () => messages],
  [/:streamGenerateContent$/, () => gemini],
];

/**
 * It answers `pong` to `ping`, and counts to a number. `hold` in the question makes it stop after the first word until it is
 * released. `use the tool <name> with <json> now` makes it call a tool of the agent's own, and `<n> times` in place of `now` makes it
 * call the tool whose name ends so, round after round; `#` in the JSON is then the round, as some agents stop a model that repeats itself.
 */
export async function startModelServer(): Promise<ModelServer> {
  const requests: Asked[] = [];
  let waiting = Promise.withResolvers<void>();
  let going = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy()); // the agent left
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "", "http://127.0.0.1");
    const body: unknown = JSON.parse((await text(request)) || "{}");
    if (!isObject(body)) throw new Error("a request without an object");
    if (request.method === "POST") requests.push(readAsked(pathname, body));
    if (pathname.endsWith(":generateContent")) {
      // Gemini CLI asks whether a long loop makes progress, and waits for that
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(part({ text: "{}" }, "STOP")));
      return;
    }
    const wire = wires.find(([path]) => path.test(pathname))?.[1]();
    if (wire === undefined) {
      response.writeHead(404).end();
      return;
    }
    const { model } = readAsked(pathname, body);
    const said = saidIn(body);
    const question = JSON.stringify(said.findLast(isQuestion) ?? "")
      .replaceAll('\\"', '"')
      .replaceAll("\\\\", "\\");
    const hasResult = /"(?:tool|function_call_output|custom_tool_call_output|tool_result|functionResponse)"/.test(
      JSON.stringify(said.at(-1)),
    );
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (events: readonly (object | string)[]) => {
      for (const event of events) {
        const type = isObject(event) && typeof event["type"] === "string" ? `event: ${event["type"]}\n` : "";
        response.write(`${type}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
      }
    };
    const [, asked = "", json = "", times] =
      /use the tool ([\w./-]+) with (\{.*?\}) (?:now|(\d+) times)/s.exec(question) ?? [];
    const rounds = resultsIn(said);
    const isDue = times === undefined ? !hasResult : rounds < Number(times);
    const name = times === undefined ? asked : offeredAs(asked, body);
    const call =
      json === "" || !isDue
        ? undefined
        : { id: `call_${requests.length}`, name, json: json.replace("#", String(rounds)) };
    send(wire.begin(model));
    if (call !== undefined) send(wire.call(call, model));
    else await say(wordsFor(question), question, (word) => send(wire.text(word, model)));
    send(wire.end(call !== undefined, model));
    response.end();
  }

  async function say(words: readonly string[], question: string, send: (word: string) => void): Promise<void> {
    for (const [index, word] of words.entries()) {
      if (index === 1 && question.includes("hold")) {
        waiting.resolve();
        await going.promise;
        going = Promise.withResolvers();
        waiting = Promise.withResolvers();
      }
      send(word);
    }
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    asked: (part) => requests.filter((request) => request.text.includes(part)),
    held: () => waiting.promise,
    release: () => going.resolve(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function resultsIn(said: readonly unknown[]): number {
  const kinds = /"(?:role":"tool|type":"function_call_output|type":"tool_result|functionResponse)"/g;
  return JSON.stringify(said).match(kinds)?.length ?? 0;
}

/** Codex offers the tools of a server as the members of a namespace, whose name stands before theirs here. */
function withNamespace(name: string): object {
  const [namespace, member] = name.split("/");
  return member === undefined ? { name } : { namespace, name: member };
}

/** The whole name of the offered tool whose name ends so. */
function offeredAs(name: string, { tools }: JsonObject): string {
  const spaces = Array.isArray(tools) ? tools.filter((tool) => isObject(tool) && tool["type"] === "namespace") : [];
  const space: unknown = spaces.find(({ tools: members }) => JSON.stringify(members).includes(`"name":"${name}"`));
  if (isObject(space)) return `${String(space["name"])}/${name}`;
  return new RegExp(`"name":"([^"]*${name})"`).exec(JSON.stringify(tools ?? []))?.[1] ?? name;
}

function wordsFor(question: string): readonly string[] {
  const count = /count to (\d+)/.exec(question)?.[1];
  if (count === undefined) return [/\bJSON\b/.test(question) ? '{"pong":1}' : "pong"];
  return Array.from({ length: Number(count) }, (_, index) => (index === 0 ? "1" : `, ${index + 1}`));
}
