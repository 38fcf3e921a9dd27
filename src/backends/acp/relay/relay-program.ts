import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import process from "node:process";
import { parseJson, writeJson } from "../../../base/json.ts";
import { dial } from "../../../base/node/door.ts";
import { awaitedCallId, longestCallMs } from "../../backend.ts";
import { JsonLines, type LeftOut, longestContent } from "../wire/lines.ts";
import type { FromRelay, RelayedCall, ToRelay } from "./relay-wire.ts";

/*
 * The relay: a stdio MCP server that an agent starts for one of its sessions. It passes the calls of the agent to the gateway and the
 * answers back, and holds a call for as long as it lives: a new gateway learns of the calls that wait. It loads no library,
 * because an agent starts one for every session. Source: docs/dev/wire/acp.md.
 */

type Message = Readonly<Record<string, unknown>>;
type Id = string | number;

const { MILLRACE_RELAY_SOCKET: door = "", MILLRACE_RELAY_SECRET_FILE: secretFile = "" } = process.env;
const revisions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/** Agents end a call without a sign of life after 30 to 60 s. */
const progressMs = 5_000;
/** How soon it looks for the next gateway: sooner at first, and no more often than this while none is there. */
const firstMs = 250;
const longestMs = 2_000;
let againMs = firstMs;

const waiting = new Map<
  string,
  {
    readonly id: Id;
    readonly progressToken: unknown;
    readonly call: RelayedCall;
    /** Of its arguments as JSON, in characters. */
    readonly length: number;
  }
>();
/** The calls that the agent makes before it gets a result belong to one answer: their ids begin alike. */
let round = newRound();
let made = 0;
const unlisted: Id[] = [];
let tools: (ToRelay & { readonly type: "tools" })["tools"] | undefined;
let listed = false;
let gateway: Socket | undefined;
let secret: string | undefined;

function newRound(): string {
  return randomBytes(8).toString("hex");
}

/** Hands on each message of a stream; a line that is none is skipped, and so is one over the bounds. */
function reader(onMessage: (message: Message) => void, leftOut: LeftOut = () => {}): (chunk: string) => void {
  const lines = new JsonLines(leftOut);
  return (chunk) => {
    for (const message of lines.feed(chunk)) onMessage(message);
  };
}

function toAgent(message: object): void {
  process.stdout.write(`${writeJson({ jsonrpc: "2.0", ...message })}\n`);
}

function toGateway(message: FromRelay): void {
  gateway?.write(`${writeJson(message)}\n`);
}

async function connect(): Promise<void> {
  try {
    secret ??= readFileSync(secretFile, "utf8"); // each gateway writes it, and takes it away when it leaves
    const socket = await dial(door);
    gateway = socket.setEncoding("utf8");
    againMs = firstMs;
    toGateway({ type: "hello", secret, listed, calls: [...waiting.values()].map(({ call }) => call) });
    socket.on(
      "data",
      reader((message) => fromGateway(message as unknown as ToRelay)), // the hub of this release, or of the next one
    );
    await once(socket, "close");
  } catch {
    // no gateway is there yet
  }
  gateway = undefined;
  setTimeout(() => void connect(), againMs);
  againMs = Math.min(againMs * 2, longestMs);
}

function fromGateway(message: ToRelay): void {
  if (message.type === "tools") {
    const isChange = tools !== undefined && writeJson(tools) !== writeJson(message.tools);
    tools = message.tools;
    for (const id of unlisted.splice(0)) list(id);
    if (isChange && listed) toAgent({ method: "notifications/tools/list_changed" });
  } else if (message.type === "answer") {
    const call = waiting.get(message.callId);
    waiting.delete(message.callId);
    round = newRound();
    if (call !== undefined) toAgent({ id: call.id, result: { content: message.content, isError: message.isError } });
  }
}

function list(id: Id): void {
  if (tools === undefined) {
    unlisted.push(id);
    return;
  }
  toAgent({ id, result: { tools } });
  toGateway({ type: "listed" });
  listed = true;
}

function fromAgent({ id, method, params }: Message): void {
  const given = typeof params === "object" && params !== null ? (params as Message) : {};
  if (method === "notifications/cancelled") {
    for (const [callId, call] of waiting) {
      if (call.id !== given["requestId"]) continue;
      waiting.delete(callId);
      toGateway({ type: "dropped", callId });
    }
  }
  if (typeof id !== "string" && typeof id !== "number") return;
  if (method === "initialize") {
    const asked = given["protocolVersion"];
    const protocolVersion = revisions.find((revision) => revision === asked) ?? revisions[0];
    const serverInfo = { name: "millrace", version: "1" };
    toAgent({ id, result: { protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo } });
  } else if (method === "ping") {
    toAgent({ id, result: {} });
  } else if (method === "tools/list") {
    list(id);
  } else if (method === "tools/call") {
    call(id, given);
  } else if (method !== undefined) {
    toAgent({ id, error: { code: -32601, message: `Method not found: ${writeJson(method)}` } });
  }
}

/** Answers a call that no hop could carry. The prompt goes on: the model can write less. */
function refuse(id: Id): void {
  const text = `The arguments of this call, with those of the calls that wait, have more than ${Math.floor(longestContent / 2 ** 20)} million characters as JSON, or too many levels. The call was not made. Write less at once.`;
  toAgent({ id, result: { content: [{ type: "text", text }], isError: true } });
}

const idForm = String.raw`"id"\s*:\s*(\d{1,15}|"[^"\\]{1,200}")`;
/** The id as a member of the message itself: the last one, or one of the first. */
const idAtEnd = new RegExp(`${idForm}\\s*(?:,\\s*"jsonrpc"\\s*:\\s*"2\\.0"\\s*)?\\}\\s*$`);
const idAtStart = new RegExp(
  `^\\s*\\{\\s*(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?(?:"method"\\s*:\\s*"[^"]*"\\s*,\\s*)?${idForm}`,
);

/** A message of the agent that was left out: only a call is so long. */
function refuseLong(start: string, end: string): void {
  const id = idAtEnd.exec(end)?.[1] ?? idAtStart.exec(start)?.[1];
  if (id !== undefined) refuse(parseJson(id) as Id); // a number or a string, by its form
}

function call(id: Id, { name, arguments: given, _meta }: Message): void {
  const meta = typeof _meta === "object" && _meta !== null ? (_meta as Message) : {};
  const args = typeof given === "object" && given !== null ? (given as Message) : {};
  const callId = awaitedCallId(round, made++);
  const relayed: RelayedCall = { callId, name: String(name), arguments: args };
  const length = writeJson(args).length;
  const sum = [...waiting.values()].reduce((total, held) => total + held.length, length);
  if (sum > longestContent) {
    refuse(id);
    return;
  }
  waiting.set(callId, { id, progressToken: meta["progressToken"], call: relayed, length });
  toGateway({ type: "call", call: relayed });
  holdUp(callId, 0);
}

/** Tells the agent every 5 s that the call is alive; answers it with an error once it waited for too long. */
function holdUp(callId: string, seconds: number): void {
  setTimeout(() => {
    const held = waiting.get(callId);
    if (held === undefined) return;
    const progress = seconds + progressMs / 1000;
    if (progress * 1000 >= longestCallMs) {
      toGateway({ type: "dropped", callId });
      const content = [{ type: "text", text: "Nobody answered this call." }];
      fromGateway({ type: "answer", callId, content, isError: true } as ToRelay);
      return;
    }
    const { progressToken } = held;
    if (progressToken !== undefined) toAgent({ method: "notifications/progress", params: { progressToken, progress } });
    holdUp(callId, progress);
  }, progressMs).unref();
}

process.stdin.setEncoding("utf8").on("data", reader(fromAgent, refuseLong));
process.stdin.on("end", () => process.exit(0)); // the agent ended, or closed the session
process.stdout.on("error", () => process.exit(0));
void connect();
