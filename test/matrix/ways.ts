import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Simulator } from "../../simulator/index.ts";
import { systemClock } from "../../src/base/clock.ts";
import { nodeLink } from "../../src/client/node/node-link.ts";
import { startReliableStream } from "../../src/client/stream/open-stream.ts";
import { pdfOf } from "../../src/gateway/pdf/pdf.fake.ts";
import { rawClient } from "../../src/gateway/streams/raw-client.fake.ts";
import type { OpenCodeConfig } from "../../src/opencode/hooks.ts";
import { openPlugin } from "../../src/opencode/open-plugin.ts";
import { together } from "../clients/table.ts";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";

/** A request, as each way writes it. */
interface Wanted {
  readonly model: string;
  readonly text: string;
  /** Base64 of a PNG. */
  readonly picture?: string;
  /** Base64. */
  readonly pdf?: string;
  readonly tool?: typeof weather;
  readonly format?: "json" | typeof schema;
  readonly stop?: string;
  readonly effort?: "high";
  /** The client asks to see the model's thinking, where it has to. */
  readonly thinks?: true;
}

/** What came back. */
interface Got {
  readonly text: string;
  readonly thinking?: string;
  readonly calls?: readonly string[];
  readonly outputTokens?: number;
}

// oxlint-disable-next-line typescript/no-explicit-any -- wire JSON of five APIs, looked into freely
type Json = any;

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const weather = { name: "weather", description: "Tells the weather.", parameters: schema } as const;
/** One white pixel. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const pdf = pdfOf("A millrace leads water to a wheel.");
const plain = "claude-sonnet-4.6";

interface Thing {
  readonly wanted: Omit<Wanted, "text" | "model"> & { readonly model?: string };
  /** The question; each cell adds words of its own to it. */
  readonly ask: string;
  /** Whether it arrived. `prompt`: what the IDE was sent. */
  readonly holds: (got: Got, prompt: Report["messages"][number]) => boolean;
}

type Report = Awaited<ReturnType<Simulator["report"]>>;

/** What a client may want. */
export const things: Readonly<Record<string, Thing>> = {
  text: { wanted: {}, ask: "echo: falling water", holds: ({ text }) => text.includes("falling water") },
  picture: { wanted: { picture: png }, ask: "What is it?", holds: (_, { images }) => images.length === 1 },
  PDF: { wanted: { pdf }, ask: "Sum it up.", holds: (_, { text }) => text.includes("leads water to a wheel") },
  tools: { wanted: { tool: weather }, ask: "Ask [[sim: agent=once]]", holds: ({ calls }) => calls?.[0] === "weather" },
  "JSON by a schema": { wanted: { format: schema }, ask: "Where?", holds: ({ text }) => "city" in parsed(text) },
  "JSON of any form": { wanted: { format: "json" }, ask: "Where?", holds: ({ text }) => "answer" in parsed(text) },
  stop: { wanted: { stop: "5" }, ask: "count to 12", holds: ({ text }) => text.trim() === "1, 2, 3, 4," },
  effort: {
    wanted: { effort: "high", model: "gpt-5.5" },
    ask: "Think.",
    holds: (_, { modelUid }) => modelUid.endsWith("high"),
  },
  usage: { wanted: {}, ask: "count to 3", holds: ({ outputTokens = 0 }) => outputTokens > 0 },
  reasoning: {
    wanted: { model: "claude-sonnet-4.6-thinking", thinks: true },
    ask: "Why?",
    holds: ({ thinking = "" }) => thinking !== "",
  },
};

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

interface Way {
  readonly ask: (at: Place, wanted: Wanted) => Promise<Got>;
  /** Why a thing does not go this way. */
  readonly not?: Readonly<Record<string, string>>;
}

interface Place {
  readonly home: string;
  readonly served: GatewayProcess;
}

/** The ways to a model. */
export const ways: Readonly<Record<string, Way>> = {
  Chat: { ask: ({ served }, wanted) => overChat((body) => post(served, "/v1/chat/completions", body), wanted) },
  Responses: { ask: overResponses, not: { stop: "the API has none" } },
  Messages: { ask: overMessages, not: { "JSON of any form": "the API has none" } },
  Gemini: { ask: overGemini },
  Ollama: { ask: overOllama, not: { PDF: "the API has none" } },
  "the stream protocol": { ask: overStream },
  "the client library": { ask: overLibrary },
  "the OpenCode plugin": {
    ask: overPlugin,
    not: {
      "JSON by a schema": "OpenCode asks for none",
      "JSON of any form": "OpenCode asks for none",
      stop: "OpenCode sends none",
    },
  },
  "`millrace chat`": { ask: overCommand, not: { tools: "the command runs none" } },
};

/** Tries each thing on each way. A cell is `Y`, a reason, or what came in its place. */
export async function tryWays(ide: Simulator, at: Place): Promise<readonly (readonly string[])[]> {
  const rows: string[][] = [];
  for (const [thing, { wanted, ask, holds }] of Object.entries(things)) {
    const cells = Object.entries(ways).map(async ([name, way]) => {
      if (way.not?.[thing] !== undefined) return way.not[thing];
      const tag = `(${thing} by ${name})`;
      const text = ask.startsWith("echo:") ? `${ask} ${tag}` : `${tag} ${ask}`;
      try {
        const got = await way.ask(at, { model: plain, ...wanted, text });
        const prompt = (await ide.report()).messages.find((message) => message.text.includes(tag));
        return prompt !== undefined && holds(got, prompt) ? "Y" : `no: ${JSON.stringify(got).slice(0, 200)}`;
      } catch (error) {
        return `no: ${error instanceof Error ? error.message : String(error)}`;
      }
    });
    rows.push([thing, ...(await Promise.all(cells))]);
  }
  return rows;
}

/** What docs/http-api.md says of them: things and ways, then each cell that is no `Y`. */
export function listOf(rows: readonly (readonly string[])[]): string {
  const names = Object.keys(ways);
  const not = names.flatMap((name, at) => {
    const said = together(rows.map((cells) => [cells[at + 1] ?? "", cells[0] ?? ""])).filter(([cell]) => cell !== "Y");
    return said.map(([reason, of]) => `- ${of.join(", ")} over ${name}: ${reason}`);
  });
  return [`${Object.keys(things).join(", ")}: each over ${names.join(", ")}, but not:`, "", ...not].join("\n");
}

async function post({ url, key }: GatewayProcess, path: string, body: object): Promise<Json> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return answerOf(await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function answerOf(response: Response): Promise<Json> {
  const answer: Json = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer;
}

async function overChat(send: (body: object) => Promise<Json>, wanted: Wanted): Promise<Got> {
  const { model, text, picture, pdf: file, tool, format, stop, effort } = wanted;
  const content = [
    { type: "text", text },
    ...(picture ? [{ type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } }] : []),
    ...(file ? [{ type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${file}` } }] : []),
  ];
  const answer = await send({
    model,
    messages: [{ role: "user", content }],
    ...(tool && { tools: [{ type: "function", function: tool }] }),
    ...(format && { response_format: formatOf(format) }),
    ...(stop && { stop }),
    ...(effort && { reasoning_effort: effort }),
  });
  const { content: said, reasoning_content: thinking, tool_calls: calls = [] } = answer.choices[0].message;
  return {
    text: said ?? "",
    thinking,
    calls: calls.map((call: Json) => call.function.name),
    outputTokens: answer.usage.completion_tokens,
  };
}

const formatOf = (format: NonNullable<Wanted["format"]>) =>
  format === "json" ? { type: "json_object" } : { type: "json_schema", json_schema: { name: "place", schema: format } };

async function overResponses({ served }: Place, wanted: Wanted): Promise<Got> {
  const { model, text, picture, pdf: file, tool, format, effort } = wanted;
  const content = [
    { type: "input_text", text },
    ...(picture ? [{ type: "input_image", image_url: `data:image/png;base64,${picture}` }] : []),
    ...(file ? [{ type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${file}` }] : []),
  ];
  const answer = await post(served, "/v1/responses", {
    model,
    input: [{ role: "user", content }],
    ...(tool && { tools: [{ type: "function", ...tool }] }),
    ...(format === "json" && { text: { format: { type: "json_object" } } }),
    ...(typeof format === "object" && { text: { format: { type: "json_schema", name: "place", schema: format } } }),
    ...(effort && { reasoning: { effort } }),
  });
  const parts = (type: string) => answer.output.filter((item: Json) => item.type === type);
  const words = (items: Json[]) => items.flatMap((item) => [...(item.content ?? []), ...(item.summary ?? [])]);
  const textIn = (items: Json[]) =>
    words(items)
      .map((part) => part.text)
      .join("");
  return {
    text: textIn(parts("message")),
    thinking: textIn(parts("reasoning")),
    calls: parts("function_call").map((call: Json) => call.name),
    outputTokens: answer.usage.output_tokens,
  };
}

async function overMessages({ served }: Place, wanted: Wanted): Promise<Got> {
  const { model, text, picture, pdf: file, tool, format, stop, effort, thinks } = wanted;
  const source = (media_type: string, data: string) => ({ type: "base64", media_type, data });
  const content = [
    { type: "text", text },
    ...(picture ? [{ type: "image", source: source("image/png", picture) }] : []),
    ...(file ? [{ type: "document", source: source("application/pdf", file) }] : []),
  ];
  const config = {
    ...(effort && { effort }),
    ...(typeof format === "object" && { format: { type: "json_schema", schema: format } }),
  };
  const answer = await post(served, "/v1/messages", {
    model,
    max_tokens: 1000,
    messages: [{ role: "user", content }],
    ...(tool && { tools: [{ name: tool.name, description: tool.description, input_schema: tool.parameters }] }),
    ...(stop && { stop_sequences: [stop] }),
    ...(thinks && { thinking: { type: "adaptive" } }),
    output_config: config,
  });
  const blocks = (type: string): Json[] => answer.content.filter((block: Json) => block.type === type);
  return {
    text: blocks("text")
      .map((block) => block.text)
      .join(""),
    thinking: blocks("thinking")
      .map((block) => block.thinking)
      .join(""),
    calls: blocks("tool_use").map((block) => block.name),
    outputTokens: answer.usage.output_tokens,
  };
}

async function overGemini({ served }: Place, wanted: Wanted): Promise<Got> {
  const { model, text, picture, pdf: file, tool, format, stop, effort, thinks } = wanted;
  const inline = (mimeType: string, data: string) => ({ inlineData: { mimeType, data } });
  const parts = [
    { text },
    ...(picture ? [inline("image/png", picture)] : []),
    ...(file ? [inline("application/pdf", file)] : []),
  ];
  const answer = await post(served, `/v1beta/models/${model}:generateContent`, {
    contents: [{ role: "user", parts }],
    ...(tool && { tools: [{ functionDeclarations: [tool] }] }),
    generationConfig: {
      ...(format && { responseMimeType: "application/json" }),
      ...(typeof format === "object" && { responseJsonSchema: format }),
      ...(stop && { stopSequences: [stop] }),
      ...((effort ?? thinks) && {
        thinkingConfig: { includeThoughts: true, ...(effort && { thinkingLevel: effort }) },
      }),
    },
  });
  const got: Json[] = answer.candidates[0].content.parts;
  const texts = (isThought: boolean) =>
    got.filter((part) => part.text && (part.thought === true) === isThought).map((part) => part.text);
  return {
    text: texts(false).join(""),
    thinking: texts(true).join(""),
    calls: got.flatMap((part) => (part.functionCall ? [part.functionCall.name] : [])),
    outputTokens: answer.usageMetadata.candidatesTokenCount,
  };
}

async function overOllama({ served }: Place, wanted: Wanted): Promise<Got> {
  const { model, text, picture, tool, format, stop, effort, thinks } = wanted;
  const answer = await post(served, "/api/chat", {
    model,
    stream: false,
    messages: [{ role: "user", content: text, ...(picture && { images: [picture] }) }],
    ...(tool && { tools: [{ type: "function", function: tool }] }),
    ...(format && { format }),
    ...(stop && { options: { stop: [stop] } }),
    ...(effort && { think: effort }),
    ...(thinks && { think: true }),
  });
  const { content, thinking, tool_calls: calls = [] } = answer.message;
  return {
    text: content,
    thinking,
    calls: calls.map((call: Json) => call.function.name),
    outputTokens: answer.eval_count,
  };
}

const bytes = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"));
const filesOf = ({ picture, pdf: file }: Wanted) => [
  ...(picture ? [{ mimeType: "image/png", data: bytes(picture) }] : []),
  ...(file ? [{ mimeType: "application/pdf", name: "a.pdf", data: bytes(file) }] : []),
];

/** As a client in another language writes it, by the fields of chat.proto. */
async function overStream({ served }: Place, wanted: Wanted): Promise<Got> {
  const { model, text, tool, format, stop, effort } = wanted;
  const attach = rawClient(served).attach("bidi", {
    "x-idempotency-key": crypto.randomUUID(),
    "x-idempotent-encryption-key": Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url"),
  });
  const chat = {
    conversation: [{ text, type: 1 as const, files: filesOf(wanted) }],
    modelDetails: { modelName: model },
    mcpTools: tool ? [{ ...tool, parameters: JSON.stringify(tool.parameters) }] : [],
    stop: stop ? [stop] : [],
    ...(format && { responseFormat: JSON.stringify(formatOf(format)) }),
    ...(effort && { reasoningEffort: effort }),
  };
  const request = { case: "streamUnifiedChatRequest" as const, value: chat };
  attach.send({ seqno: 0, request: { case: "clientChunk", value: { request } } });
  attach.send({ seqno: 1, request: { case: "close", value: {} } }).endInput();
  const error = await attach.ended;
  if (error !== undefined) throw error;
  const parts = attach.chunks.map(({ response }) => response);
  const words = parts.flatMap((part) => (part.case === "streamUnifiedChatResponse" ? [part.value] : []));
  return {
    text: attach.text,
    thinking: words.map(({ thinking }) => thinking?.text ?? "").join(""),
    calls: parts.flatMap((part) => (part.case === "clientSideToolV2Call" ? [part.value.name] : [])),
    outputTokens: attach.end?.completionTokens ?? 0,
  };
}

async function overLibrary({ served }: Place, wanted: Wanted): Promise<Got> {
  const { model, text, tool, format, stop, effort } = wanted;
  const request = {
    model,
    messages: [{ role: "user" as const, text, files: filesOf(wanted) }],
    ...(tool && { tools: [tool] }),
    ...(format && { format: format === "json" ? format : { schema: format } }),
    ...(stop && { stop: [stop] }),
    ...(effort && { effort }),
  };
  const stream = await startReliableStream(request, { gateway: nodeLink(served) });
  const got = { text: "", thinking: "", calls: [] as string[], outputTokens: 0 };
  for await (const event of stream.events) {
    if (event.type === "text" || event.type === "thinking") got[event.type] += event.delta;
    if (event.type === "tool_call") {
      got.calls.push(event.name);
      await stream.close();
    }
    if (event.type === "end") {
      if (event.outcome !== "finished") throw new Error(event.errorMessage);
      got.outputTokens = event.completionTokens ?? 0;
    }
  }
  return got;
}

/** As OpenCode sends it through the plugin: by the provider and the variants that the plugin made. */
async function overPlugin({ home }: Place, wanted: Wanted): Promise<Got> {
  const nothing = () => Promise.resolve(undefined);
  const client = { tui: { showToast: nothing }, app: { log: nothing } };
  const folder = join(home, ".millrace");
  const hooks = openPlugin(
    { client, worktree: home, directory: home },
    { folder, keyFile: undefined, env: { HOME: home }, clock: systemClock },
  );
  const config: OpenCodeConfig = {};
  await hooks.config(config);
  const { options, models } = config.provider?.["millrace"] ?? {};
  const { baseURL, fetch: send } = options as { readonly baseURL: string; readonly fetch: typeof fetch }; // the plugin's own
  const effort = models?.[wanted.model]?.variants?.["high"]?.["reasoningEffort"] as "high" | undefined; // as its list says
  const init = (body: object) => ({
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  return overChat(async (body) => answerOf(await send(`${baseURL}/chat/completions`, init(body))), {
    ...wanted,
    ...(wanted.effort && effort && { effort }),
  });
}

async function overCommand({ home }: Place, wanted: Wanted): Promise<Got> {
  const { model, text, picture, pdf: file, format, stop, effort } = wanted;
  const folder = mkdtempSync(join(tmpdir(), "millrace-ways-"));
  const put = (name: string, content: Uint8Array | string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const words = [
    ["chat", "-m", model, "--json"],
    picture ? ["--image", put("a.png", bytes(picture))] : [],
    file ? ["--file", put("a.pdf", bytes(file))] : [],
    format ? ["--format", format === "json" ? format : put("schema.json", JSON.stringify(format))] : [],
    stop ? ["--stop", stop] : [],
    effort ? ["--effort", effort] : [],
    [text],
  ];
  const { code, stdout, stderr } = await millrace(words.flat(), { home });
  if (code !== 0) throw new Error(stderr);
  const { answer, thinking, tokens }: Json = JSON.parse(stdout);
  return { text: answer, thinking, outputTokens: tokens?.out ?? 0 };
}
