import { Agent, type IncomingMessage, request } from "node:http";
import type { GatewayProcess } from "../../test/support/gateway-process.ts";
import { model } from "./gateway.ts";

/** How a client takes its answer. */
export interface Taking {
  readonly headers?: Readonly<Record<string, string>>;
  /** Reads nothing for this long after its first bytes; ms. */
  readonly pauseMs?: number;
  /** Goes away this long after its first bytes; ms. */
  readonly leaveMs?: number;
  /** Called with the first bytes that are an event of the answer. */
  readonly onFirst?: () => void;
}

const agent = new Agent({ keepAlive: true });

export function askChat(gateway: GatewayProcess, name: string, taking: Taking = {}, history = 0): Promise<void> {
  const earlier = Array.from({ length: history }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: `Step ${i} of ${name}: ${"what was said before, ".repeat(10)}`,
  }));
  const messages = [...earlier, { role: "user", content: name }];
  return drain(
    gateway,
    { path: "/v1/chat/completions", body: { model, stream: true, messages }, end: "[DONE]" },
    taking,
  );
}

export function askResponses(gateway: GatewayProcess, name: string, taking: Taking = {}): Promise<void> {
  return drain(
    gateway,
    { path: "/v1/responses", body: { model, stream: true, input: name }, end: "response.completed" },
    taking,
  );
}

export function askMessages(gateway: GatewayProcess, name: string, taking: Taking = {}): Promise<void> {
  const body = { model, stream: true, max_tokens: 100_000, messages: [{ role: "user", content: name }] };
  return drain(gateway, { path: "/v1/messages", body, end: "message_stop" }, taking);
}

/** Reads an answer to its end, or as long as the client stays; throws when the end does not come. */
async function drain(
  gateway: GatewayProcess,
  { path, body, end }: { readonly path: string; readonly body: unknown; readonly end: string },
  { headers = {}, pauseMs, leaveMs, onFirst }: Taking,
): Promise<void> {
  const response = await post(gateway, path, body, headers);
  response.setEncoding("utf8");
  let [tail, isFirst, left] = ["", true, false];
  response.on("data", (piece: string) => {
    tail = (tail + piece).slice(-2_000_000);
    if (!isFirst) return;
    isFirst = false;
    onFirst?.();
    if (leaveMs !== undefined)
      setTimeout(() => {
        left = true;
        response.destroy();
      }, leaveMs);
    if (pauseMs === undefined) return;
    response.pause();
    setTimeout(() => response.resume(), pauseMs);
  });
  await new Promise<void>((resolve) => {
    response.on("error", () => {}); // the client that left; anything else lacks its end below
    response.on("close", resolve);
  });
  if (!left && !tail.includes(end)) throw new Error(`${path}: ${response.statusCode} ${tail.slice(-300)}`);
}

function post(
  gateway: GatewayProcess,
  path: string,
  body: unknown,
  more: Readonly<Record<string, string>>,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...more };
    request(gateway.url + path, { method: "POST", headers, agent }, resolve)
      .on("error", reject)
      .end(JSON.stringify(body));
  });
}
