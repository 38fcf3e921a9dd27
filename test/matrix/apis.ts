import { isMillraceError } from "../../src/base/errors.ts";
import { nodeLink } from "../../src/client/node/node-link.ts";
import { openMemoryRecordStore } from "../../src/client/records/memory-record-store.ts";
import { startReliableStream } from "../../src/client/stream/open-stream.ts";
import { detailsOf, rawClient, say } from "../../src/gateway/streams/raw-client.fake.ts";
import { StreamEnd_Outcome } from "../../src/proto/aiserver/v1/chat_pb.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { patience } from "../support/world.ts";
import { soon } from "./soon.ts";

/** What one attempt of a client came to. */
export interface AskReport {
  readonly failed: boolean;
  /** All that came, the error included. */
  readonly text: string;
  /** Of an HTTP API. */
  readonly status?: number;
}

/** Each attempt with the same question is the same request, byte for byte. */
export interface Question {
  readonly model: string;
  readonly text: string;
  readonly key?: string;
  readonly userAgent?: string;
  /** Called when a part of the answer has arrived. */
  readonly onText?: () => void;
  /** How long the gateway may wait in the answer for an IDE that is gone; ms. */
  readonly awayMs?: number;
}

/** One way to ask. */
export interface Cell {
  readonly how: string;
  readonly api: "Chat Completions" | "Responses" | "Messages" | "Gemini" | "the stream protocol";
  readonly keyed: boolean;
  /** Fails if the client has no message within 10 s, and the time for which an IDE that is gone is waited for. */
  ask(gateway: GatewayProcess, question: Question): Promise<AskReport>;
}

const messages = (content: string) => ({ messages: [{ role: "user", content }] });

const apis: Readonly<Record<Cell["api"], Cell["ask"]>> = {
  "Chat Completions": overHttp("/v1/chat/completions", messages),
  Responses: overHttp("/v1/responses", (input) => ({ input })),
  Messages: overHttp("/v1/messages", (content) => ({ max_tokens: 1000, ...messages(content) })),
  Gemini: overHttp(
    ({ model }) => `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    (text) => ({ contents: [{ role: "user", parts: [{ text }] }] }),
  ),
  "the stream protocol": (gateway, question) =>
    question.key === undefined ? overNewStream(gateway, question) : overNamedStream(gateway, question, question.key),
};

/** Every API, with a key and without. The key of a stream is its name. */
export const cells: readonly Cell[] = Object.entries(apis).flatMap(([api, ask]) =>
  [false, true].map((keyed) => {
    const how = `${api}, ${keyed ? "with" : "without"} a key`;
    return {
      how,
      api: api as Cell["api"], // a key of the record above
      keyed,
      ask: (gateway: GatewayProcess, question: Question) =>
        soon(gateway, how, () => ask(gateway, question), question.awayMs),
    };
  }),
);

function overHttp(path: string | ((question: Question) => string), body: (question: string) => object): Cell["ask"] {
  return async ({ url, key: apiKey }, asked) => {
    const { model, text: question, key, userAgent, onText = () => {} } = asked;
    const response = await fetch(url + (typeof path === "string" ? path : path(asked)), {
      method: "POST",
      headers: {
        authorization: `Bearer ${apiKey}`,
        "content-type": "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key }),
        ...(userAgent === undefined ? {} : { "user-agent": userAgent }),
      },
      body: JSON.stringify({ model, stream: true, ...body(question) }),
      signal: patience(),
    });
    let text = "";
    let isCut = false;
    try {
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece;
        if (/"(?:content|delta|text)":"[^"]/.test(text)) onText();
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      isCut = true; // a broken stream ends so
    }
    const failed = isCut || response.status >= 400 || /"error":\{|"type":"(?:error|response\.failed)"/.test(text);
    return { failed, text, status: response.status };
  };
}

/** A stream of its own with each attempt, as the client library makes one. */
async function overNewStream({ url, key: apiKey }: GatewayProcess, { model, text: question, onText }: Question) {
  const options = { gateway: nodeLink({ url, key: apiKey }), store: openMemoryRecordStore() };
  const request = { model, messages: [{ role: "user" as const, text: question }] };
  try {
    const stream = await startReliableStream(request, options, patience());
    let text = "";
    for await (const event of stream.events) {
      text += JSON.stringify(event);
      if (event.type === "text") onText?.();
    }
    return { failed: !text.includes('"outcome":"finished"'), text };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { failed: true, text: `${error.message} ${error.hint}` };
  }
}

/** The same stream with each attempt, as a client asks that knows the original's fields only. */
async function overNamedStream(gateway: GatewayProcess, { model, text, onText }: Question, key: string) {
  const attach = rawClient(gateway).attach("sse", {
    "x-idempotency-key": key,
    "x-idempotent-encryption-key": Buffer.alloc(32, key).toString("base64url"),
  });
  const late = patience();
  late.addEventListener("abort", () => void attach.cut());
  void attach.until((now) => now.text !== "").then(onText, () => {}); // an attach may end without a text
  attach.send(say.request(text, 0, { model })).endInput();
  const error = await attach.ended;
  late.throwIfAborted();
  if (error !== undefined)
    return { failed: true, text: `${error.rawMessage} ${JSON.stringify(detailsOf(error).info)}` };
  const { outcome, errorCode: code = "", errorMessage = "", errorHint = "" } = attach.end ?? {};
  if (outcome === StreamEnd_Outcome.FINISHED) return { failed: false, text: attach.text };
  return { failed: true, text: [attach.text, JSON.stringify({ code }), errorMessage, errorHint].join(" ") };
}
