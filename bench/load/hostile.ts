import { once } from "node:events";
import { WebSocket } from "ws";
import { rpcDoors } from "../../test/attacks/rpc-doors.ts";
import { model } from "./gateway.ts";

/** What the process is told to do: once to prepare, and it goes on with `"go"`. */
export interface HostileOrder {
  readonly url: string;
  readonly key: string;
  /** One of `attacks`. */
  readonly attack: string;
}

/** How often each answer came: a status, or how a connection ended. */
export type HostileReport = Readonly<Record<string, number>>;

type Target = Pick<HostileOrder, "url" | "key">;
type Send = (target: Target, body: Buffer) => Promise<string>;

interface Attack {
  readonly send: Send;
  readonly body: () => string;
  /** Requests, or connections, at one moment. */
  readonly atOnce: number;
}

const megabyte = 1024 * 1024;
const started = Date.now();
let asked = 0;

/** A request with one more member; every one of them is new. */
function request(more: Readonly<Record<string, unknown>> | string = {}): string {
  const name = `hostile ${started} ${asked++}`;
  const fits = { model, max_tokens: 9, stream: false, messages: [{ role: "user", content: name }], input: name };
  const whole = JSON.stringify({
    ...fits,
    prompt: name,
    type: "response.create",
    ...(typeof more === "string" ? {} : more),
  });
  return typeof more === "string" ? `${whole.slice(0, -1)},${more}}` : whole;
}

const member = (length: number, item: string) => `"metadata":[${item.repeat(Math.floor(length / item.length))}0]`;
const members = (length: number) => () => request(member(length, '{"a-member-name":1},'));
const lists = (length: number) => () => request(member(length, "[],"));
/** A tool as three APIs have it; `of` keeps the members of one. */
const tool = (description: string, of: "chat" | "messages" = "chat", properties: object = {}) => {
  const parameters = { type: "object", properties };
  const one = { name: "a", description };
  return request({
    tools: [
      of === "chat" ? { type: "function", function: { ...one, parameters } } : { ...one, input_schema: parameters },
    ],
  });
};
const properties = Object.fromEntries(
  Array.from({ length: 20_000 }, (_, n) => [`property_${n}`, { type: "string", description: "x" }]),
);
const history = (of: "messages" | "input") => () =>
  request({
    [of]: Array.from({ length: 23_000 }, (_, n) => {
      const [role, type] = n % 2 === 0 ? ["user", "input_text"] : ["assistant", "output_text"];
      return { role, content: [{ type: of === "input" ? type : "text", text: `${n}` }] };
    }),
  });
const words = () => {
  const text = "words and more ".repeat(500_000);
  return request({ messages: [{ role: "user", content: text }] });
};
const image = () => {
  const url = `data:image/png;base64,${"iVBORw0KGgo/".repeat(3.5 * megabyte)}`;
  return request({
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "x" },
          { type: "image_url", image_url: { url } },
        ],
      },
    ],
  });
};

const http =
  (path: string): Send =>
  async ({ url, key }, body) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const answer = await fetch(url + path, { method: "POST", headers, body });
    await answer.arrayBuffer();
    return String(answer.status);
  };
const [chat, messages, responses, ollama] = ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/api/chat"].map(
  http,
) as [Send, Send, Send, Send];

/** Messages on one connection, none of which waits for an answer, until all are answered or the connection ends. */
const socket =
  (count: number, limit = 16 * megabyte - 1_000): Send =>
  async ({ url, key }, body) => {
    const client = new WebSocket(`${url.replace("http", "ws")}/v1/responses`, {
      headers: { authorization: `Bearer ${key}` },
    });
    client.on("error", () => {});
    const opened = await Promise.race([once(client, "open"), once(client, "close").then(() => undefined)]);
    if (opened === undefined) return "no connection";
    const ended = once(client, "close").then(([code]) => `closed ${String(code)}`);
    let answers = 0;
    const all = new Promise<string>((resolve) =>
      client.on("message", (data: Buffer) => {
        const text = data.toString();
        if (/"type":"(?:error|response\.(?:completed|incomplete|failed))"/.test(text) && ++answers === count)
          resolve(/"status":(\d+)/.exec(text)?.[1] ?? "answered");
      }),
    );
    for (let n = 0; n < count; n++) client.send(body.subarray(0, limit));
    const end = await Promise.race([ended, all]);
    client.terminate();
    return end;
  };

const streams = [...rpcDoors("json").values()];
const stream: Send = async (target, body) => {
  const send = streams[asked++ % streams.length];
  return String((await send?.(target, body))?.status);
};

export const attacks: Readonly<Record<string, Attack>> = {
  "HTTP, 60 MB with 3 million members": { send: chat, body: members(60 * megabyte), atOnce: 4 },
  "HTTP, 30 MB of empty lists": { send: messages, body: lists(30 * megabyte), atOnce: 4 },
  "HTTP, 60 MB of letters in a description": { send: chat, body: () => tool("A".repeat(60 * megabyte)), atOnce: 4 },
  "HTTP, a model's name of 1 MB": { send: chat, body: () => request({ model: "a-".repeat(megabyte / 2) }), atOnce: 8 },
  "HTTP, a model's name of 7 MB": {
    send: responses,
    body: () => request({ model: "a-".repeat(3.5 * megabyte) }),
    atOnce: 8,
  },
  "Ollama, a model's name of 7 MB": {
    send: ollama,
    body: () => request({ model: "a-".repeat(3.5 * megabyte) }),
    atOnce: 8,
  },
  "HTTP, a tool of 20,000 properties": { send: chat, body: () => tool("x", "chat", properties), atOnce: 8 },
  "Messages, a tool of 20,000 properties": { send: messages, body: () => tool("x", "messages", properties), atOnce: 8 },
  "HTTP, 23,000 messages": { send: chat, body: history("messages"), atOnce: 8 },
  "Messages, 23,000 messages": { send: messages, body: history("messages"), atOnce: 8 },
  "Responses, 23,000 messages": { send: responses, body: history("input"), atOnce: 8 },
  "HTTP, 245,000 empty lists": { send: responses, body: lists(245_000 * 3), atOnce: 8 },
  "HTTP, 7.5 MB of words": { send: chat, body: words, atOnce: 8 },
  "HTTP, an image of 42 MB": { send: chat, body: image, atOnce: 4 },
  "a WebSocket, 16 MB of members": { send: socket(1), body: members(15.9 * megabyte), atOnce: 4 },
  "a WebSocket, 16 MB of empty lists": { send: socket(1), body: lists(15.9 * megabyte), atOnce: 4 },
  "a WebSocket, 31 messages of 15 MB": { send: socket(31), body: lists(15 * megabyte), atOnce: 4 },
  "64 WebSockets, each 15 MB": { send: socket(1), body: members(15 * megabyte), atOnce: 64 },
  "64 WebSockets, each 31 messages of 15 MB": { send: socket(31), body: members(15 * megabyte), atOnce: 64 },
  "64 WebSockets, 23,000 messages": { send: socket(1), body: history("input"), atOnce: 64 },
  "the stream protocol, 15 MB of empty lists": { send: stream, body: lists(15 * megabyte), atOnce: 16 },
};

const forMs = 3_000;

/** Attacks for some seconds; how often each answer came. */
async function attackFor({ send, atOnce }: Attack, target: Target, bytes: Buffer): Promise<HostileReport> {
  const seen: Record<string, number> = {};
  const until = performance.now() + forMs;
  const one = async () => {
    while (performance.now() < until) {
      const end = await send(target, bytes).catch(
        (error: unknown) => `failed: ${String((error as Error).cause ?? error).slice(0, 80)}`,
      );
      seen[end] = (seen[end] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return seen;
}

if (process.send !== undefined) {
  process.once("message", ({ attack, ...target }: HostileOrder) => {
    const chosen = attacks[attack] as Attack; // of the same list
    const bytes = Buffer.from(chosen.body());
    const go = async () => {
      process.send?.(await attackFor(chosen, target, bytes));
      process.disconnect();
    };
    process.once("message", () => void go());
    process.send?.("ready");
  });
}
