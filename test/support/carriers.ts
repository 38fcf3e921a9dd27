import { once } from "node:events";
import { WebSocket } from "ws";
import { isObject, parseJson, writeJson } from "../../src/base/json.ts";
import { canServeSockets } from "../../src/gateway/http/responses-socket.ts";
import { rawClient, say, type TierName, tierNames } from "../../src/gateway/streams/raw-client.fake.ts";
import { headersOf, newNames } from "../../src/gateway/streams/stream-world.fake.ts";
import type { GatewayProcess } from "./gateway-process.ts";
import type { LoopTool } from "./tool-loop.ts";
import { patience } from "./world.ts";

/** One message of a history, in no API's form. */
export type Said =
  | { readonly user: string }
  | { readonly assistant: string }
  /** A call; `args` is JSON. */
  | { readonly call: string; readonly args: string }
  | { readonly result: string }
  /** A message of the user with a part that no gateway knows, and before it a message that none knows. */
  | { readonly odd: string }
  /** A message of the user that brings a PDF. */
  | { readonly pdf: string }
  /** An earlier answer by the id under which this gateway gave it out. */
  | { readonly reference: string };

export interface CarriedQuestion {
  readonly model: string;
  readonly said: readonly Said[];
  readonly tool?: LoopTool;
  /** A tool that only the API's vendor could run is offered too. */
  readonly hosted?: true;
}

/** What a client gets, read as its SDK reads it. */
export interface CarriedAnswer {
  /** All that came over the wire, where that is text. */
  readonly raw: string;
  readonly text: string;
  /** The arguments of each call, as JSON; numbers keep their digits. */
  readonly calls: readonly string[];
  /** Whether the client takes the answer for a whole one. */
  readonly isWhole: boolean;
  /** What the answer's headers say was left out of the request: over HTTP alone. */
  readonly leftOut?: string;
}

/** One way in which a client asks. */
export interface Carrier {
  readonly name: string;
  /** The stream protocol's own history has no calls: they are in the stream. */
  readonly takesHistory: boolean;
  /** Its answers have ids by which a later request can name them. */
  readonly refers?: true;
  readonly ask: (target: Target, question: CarriedQuestion) => Promise<CarriedAnswer>;
}

type Target = Pick<GatewayProcess, "url" | "key">;
type Body = (question: CarriedQuestion) => object;
type Read = (raw: string) => Omit<CarriedAnswer, "raw">;

const callId = "call_1";
const chatTool = ({ name, parameters }: LoopTool) => ({ type: "function", function: { name, parameters } });

const pdf = `data:application/pdf;base64,${Buffer.from("%PDF-1.4\n%%EOF").toString("base64")}`;
const odd = { type: "hologram", hologram: {} };

/** The tools of a body, where there are any. */
const offered = (own: object | undefined, hosted: object | undefined) => {
  const tools = [own, hosted].filter((tool) => tool !== undefined);
  return tools.length === 0 ? {} : { tools };
};

/** A history as Chat Completions have it; `result` and `call` are what Ollama writes otherwise. */
const chatMessages = (
  said: CarriedQuestion["said"],
  { call, result }: { readonly call: (name: string, args: string) => object; readonly result: object },
) =>
  said.flatMap<object>((each) => {
    if ("user" in each) return [{ role: "user", content: each.user }];
    if ("assistant" in each) return [{ role: "assistant", content: each.assistant }];
    if ("result" in each) return [{ role: "tool", ...result, content: each.result }];
    if ("call" in each) return [{ role: "assistant", content: "", tool_calls: [call(each.call, each.args)] }];
    if ("reference" in each) throw new Error("this API has no references");
    const part = "odd" in each ? odd : { type: "file", file: { filename: "a.pdf", file_data: pdf } };
    const text = "odd" in each ? each.odd : each.pdf;
    const before = "odd" in each ? [{ role: "critic", content: "x" }] : [];
    return [...before, { role: "user", content: [{ type: "text", text }, part] }];
  });

const chatBody: Body = ({ model, said, tool, hosted }) => ({
  model,
  messages: chatMessages(said, {
    call: (name, args) => ({ id: callId, type: "function", function: { name, arguments: args } }),
    result: { tool_call_id: callId },
  }),
  ...offered(tool && chatTool(tool), hosted && { type: "web_search" }),
});

const ollamaBody: Body = ({ model, said, tool, hosted }) => ({
  model,
  messages: chatMessages(said, {
    call: (name, args) => ({ id: callId, function: { name, arguments: parseJson(args) } }),
    result: { tool_name: "t", tool_call_id: callId },
  }),
  ...offered(tool && chatTool(tool), hosted && { type: "web_search" }),
});

const responsesBody: Body = ({ model, said, tool, hosted }) => ({
  model,
  input: said.flatMap<object>((each) => {
    if ("user" in each) return [{ role: "user", content: each.user }];
    if ("assistant" in each) return [{ role: "assistant", content: each.assistant }];
    if ("result" in each) return [{ type: "function_call_output", call_id: callId, output: each.result }];
    if ("call" in each) return [{ type: "function_call", call_id: callId, name: each.call, arguments: each.args }];
    if ("reference" in each) return [{ type: "item_reference", id: each.reference }];
    const part = "odd" in each ? odd : { type: "input_file", filename: "a.pdf", file_data: pdf };
    const text = "odd" in each ? each.odd : each.pdf;
    const before = "odd" in each ? [{ type: "ghost_snapshot" }] : [];
    return [...before, { role: "user", content: [{ type: "input_text", text }, part] }];
  }),
  ...offered(tool && { type: "function", ...tool }, hosted && { type: "web_search" }),
});

const messagesBody: Body = ({ model, said, tool, hosted }) => ({
  model,
  max_tokens: 4_000,
  messages: said.flatMap<object>((each) => {
    if ("user" in each) return [{ role: "user", content: each.user }];
    if ("assistant" in each) return [{ role: "assistant", content: each.assistant }];
    if ("result" in each)
      return [{ role: "user", content: [{ type: "tool_result", tool_use_id: callId, content: each.result }] }];
    if ("call" in each) {
      const call = { type: "tool_use", id: callId, name: each.call, input: parseJson(each.args) };
      return [{ role: "assistant", content: [call] }];
    }
    if ("reference" in each) throw new Error("this API has no references");
    const [, data] = pdf.split(",");
    const document = { type: "document", source: { type: "base64", media_type: "application/pdf", data } };
    const text = "odd" in each ? each.odd : each.pdf;
    const before = "odd" in each ? [{ role: "critic", content: "x" }] : [];
    return [...before, { role: "user", content: [{ type: "text", text }, "odd" in each ? odd : document] }];
  }),
  ...offered(
    tool && { name: tool.name, input_schema: tool.parameters },
    hosted && { type: "web_search_20250305", name: "web_search" },
  ),
});

const geminiBody: Body = ({ said, tool, hosted }) => ({
  contents: said.flatMap<object>((each) => {
    const user = (...parts: object[]) => ({ role: "user", parts });
    if ("user" in each) return [user({ text: each.user })];
    if ("assistant" in each) return [{ role: "model", parts: [{ text: each.assistant }] }];
    if ("result" in each)
      return [user({ functionResponse: { id: callId, name: "t", response: { result: each.result } } })];
    if ("call" in each)
      return [
        { role: "model", parts: [{ functionCall: { id: callId, name: each.call, args: parseJson(each.args) } }] },
      ];
    if ("reference" in each) throw new Error("this API has no references");
    const [, data] = pdf.split(",");
    const file = { inlineData: { mimeType: "application/pdf", data } };
    const before = "odd" in each ? [{ role: "critic", parts: [{ text: "x" }] }] : [];
    return [...before, "odd" in each ? user({ text: each.odd }, { hologram: {} }) : user({ text: each.pdf }, file)];
  }),
  ...offered(
    tool && { functionDeclarations: [{ name: tool.name, parametersJsonSchema: tool.parameters }] },
    hosted && { type: "web_search" }, // as programs of other APIs write it
  ),
});

/** Every value with this name, at any depth, in order. */
function named(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap((each) => named(each, name));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => [...(key === name ? [member] : []), ...named(member, name)]);
}

const joined = (values: readonly unknown[]) => values.filter((value) => typeof value === "string").join("");
/** Where Python's `str.splitlines` cuts. */
const lineEnd = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
/** The payloads of server-sent events. */
const payloads = (raw: string) =>
  raw
    .split(lineEnd)
    .filter((line) => line.startsWith("data: {"))
    .map((line) => parseJson(line.slice(6)));
const typed = (events: readonly unknown[], type: string) =>
  events.filter((event) => isObject(event) && event["type"] === type);

const readChat: Read = (raw) => {
  const answer = parseJson(raw);
  const calls = named(named(answer, "tool_calls"), "arguments").map(String);
  return { text: joined(named(answer, "content")), calls, isWhole: joined(named(answer, "finish_reason")) !== "" };
};

const readChatStream: Read = (raw) => {
  const events = payloads(raw);
  const parts = joined(named(named(events, "tool_calls"), "arguments"));
  const isWhole = raw.includes("data: [DONE]") && named(events, "error").length === 0;
  return { text: joined(named(events, "content")), calls: parts === "" ? [] : [parts], isWhole };
};

const readResponse = (response: unknown): Omit<CarriedAnswer, "raw"> => {
  const output = named(response, "output");
  const calls = named(output, "arguments").map(String);
  const isWhole = isObject(response) && response["status"] === "completed";
  return { text: joined(named(named(output, "content"), "text")), calls, isWhole };
};
const readResponses: Read = (raw) => readResponse(parseJson(raw));
const readResponseEvents = (events: readonly unknown[]): Omit<CarriedAnswer, "raw"> => {
  const [completed] = typed(events, "response.completed");
  const deltas = joined(named(typed(events, "response.output_text.delta"), "delta"));
  const whole = isObject(completed) ? readResponse(completed["response"]) : undefined;
  return { text: deltas, calls: whole?.calls ?? [], isWhole: whole?.isWhole === true && whole.text === deltas };
};

const readMessages: Read = (raw) => {
  const answer = parseJson(raw);
  const content = named(answer, "content");
  const calls = named(content, "input").map((input) => writeJson(input));
  return { text: joined(named(content, "text")), calls, isWhole: joined(named(answer, "stop_reason")) !== "" };
};
const readMessagesStream: Read = (raw) => {
  const events = payloads(raw);
  const parts = joined(named(events, "partial_json"));
  const isWhole = typed(events, "message_stop").length === 1 && typed(events, "error").length === 0;
  return {
    text: joined(named(typed(events, "content_block_delta"), "text")),
    calls: parts === "" ? [] : [parts],
    isWhole,
  };
};

const readOllama: Read = (raw) => {
  const lines = raw
    .split(lineEnd)
    .filter((line) => line !== "")
    .map((line) => parseJson(line));
  const calls = named(named(lines, "tool_calls"), "arguments").map((args) => writeJson(args));
  const isWhole = named(lines, "done").at(-1) === true && named(lines, "error").length === 0;
  return { text: joined(named(lines, "content")), calls, isWhole };
};

const readGemini = (chunks: readonly unknown[]): Omit<CarriedAnswer, "raw"> => ({
  text: joined(named(named(chunks, "parts"), "text")),
  calls: named(named(chunks, "functionCall"), "args").map((args) => writeJson(args)),
  isWhole: joined(named(chunks, "finishReason")) !== "" && named(chunks, "error").length === 0,
});

type PathOf = (question: CarriedQuestion) => string;
const geminiPath =
  (method: string): PathOf =>
  ({ model }) =>
    `/v1beta/models/${model}:${method}`;

function overHttp(name: string, path: string | PathOf, stream: boolean, bodyOf: Body, read: Read): Carrier {
  return {
    name,
    takesHistory: true,
    ...(bodyOf === responsesBody ? { refers: true } : {}),
    async ask({ url, key }, question) {
      const response = await fetch(url + (typeof path === "string" ? path : path(question)), {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: writeJson({ ...bodyOf(question), ...(typeof path === "string" ? { stream } : {}) }),
        signal: patience(),
      });
      const { raw, isCut } = await readAll(response);
      if (!response.ok) return { raw, text: "", calls: [], isWhole: false };
      const answer = read(raw);
      const { headers } = response;
      const leftOut = headers.get("x-millrace-left-out") ?? headers.get("x-millrace-ignored-tools") ?? "";
      return { raw, ...answer, isWhole: answer.isWhole && !isCut, leftOut };
    },
  };
}

/** A body as far as it comes. */
async function readAll({ body }: Response): Promise<{ readonly raw: string; readonly isCut: boolean }> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let raw = "";
  try {
    for await (const piece of body ?? []) raw += decoder.decode(piece as Uint8Array, { stream: true });
    return { raw, isCut: false };
  } catch {
    return { raw, isCut: true };
  }
}

const socket: Carrier = {
  name: "Responses, a WebSocket",
  takesHistory: true,
  refers: true,
  async ask({ url, key }, question) {
    const client = new WebSocket(`${url.replace("http", "ws")}/v1/responses`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await once(client, "open", { signal: patience() });
    const messages: string[] = [];
    const over = new Promise<void>((resolve, reject) => {
      client.on("close", () => resolve());
      patience().addEventListener("abort", () => reject(new Error("no end came")));
      client.on("message", (data: Buffer) => {
        messages.push(data.toString());
        if (/"type":"(?:error|response\.(?:completed|incomplete|failed))"/.test(messages.at(-1) ?? "")) resolve();
      });
    });
    client.send(writeJson({ ...responsesBody(question), type: "response.create" }));
    await over;
    client.terminate();
    return { raw: messages.join("\n"), ...readResponseEvents(messages.map((message) => parseJson(message))) };
  },
};

const overStream = (tier: TierName): Carrier => ({
  name: `the stream protocol, ${tier}`,
  takesHistory: false,
  async ask(target, { model, said, tool }) {
    const attach = rawClient(target).attach(tier, headersOf(newNames()));
    const question = said.map((each) => ("user" in each ? each.user : "")).join("");
    const offered = tool === undefined ? {} : { tools: [tool.name], parameters: tool.parameters };
    attach.send(say.request(question, 0, { model, ...offered }), say.close(1)).endInput();
    const error = await attach.ended;
    const calls = attach.chunks.flatMap(({ response }) =>
      response.case === "clientSideToolV2Call" ? [response.value.rawArgs] : [],
    );
    const isWhole = error === undefined && attach.end?.outcome === 1;
    return { raw: "", text: attach.text, calls, isWhole };
  },
});

export const carriers: readonly Carrier[] = [
  overHttp("Chat Completions", "/v1/chat/completions", false, chatBody, readChat),
  overHttp("Chat Completions, streamed", "/v1/chat/completions", true, chatBody, readChatStream),
  overHttp("Responses", "/v1/responses", false, responsesBody, readResponses),
  overHttp("Responses, streamed", "/v1/responses", true, responsesBody, (raw) => readResponseEvents(payloads(raw))),
  ...(canServeSockets() ? [socket] : []),
  overHttp("Messages", "/v1/messages", false, messagesBody, readMessages),
  overHttp("Messages, streamed", "/v1/messages", true, messagesBody, readMessagesStream),
  overHttp("Ollama's chat", "/api/chat", false, ollamaBody, readOllama),
  overHttp("Ollama's chat, streamed", "/api/chat", true, ollamaBody, readOllama),
  overHttp("Gemini", geminiPath("generateContent"), false, geminiBody, (raw) => readGemini([parseJson(raw)])),
  overHttp("Gemini, streamed", geminiPath("streamGenerateContent?alt=sse"), true, geminiBody, (raw) =>
    readGemini(payloads(raw)),
  ),
  ...tierNames.map(overStream),
];
