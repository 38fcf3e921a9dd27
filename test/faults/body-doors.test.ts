import { on, once } from "node:events";
import { readFileSync } from "node:fs";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { canServeSockets } from "../../src/gateway/http/responses-socket.ts";
import { routes } from "../../src/gateway/routes/all-routes.ts";
import {
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
  StreamUnifiedChatRequestSchema,
  StreamUnifiedChatRequestWithToolsSchema,
} from "../../src/proto/aiserver/v1/chat_pb.ts";
import { type DoorAnswer, messageDoors, rpcDoors } from "../attacks/rpc-doors.ts";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import { rowsOf } from "../support/tables.ts";
import { ask, patience, sharedWorld } from "../support/world.ts";

const world = sharedWorld(["--retention", "1m"]);
const megabyte = 1024 * 1024;

type Door = (served: GatewayProcess, body: string) => Promise<DoorAnswer>;

const http =
  (path: string): Door =>
  async ({ url, key }, body) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const answer = await fetch(`${url}${path}`, { method: "POST", headers, body, signal: patience() });
    return { status: answer.status, text: await answer.text() };
  };

async function connected({ url, key }: Pick<GatewayProcess, "url" | "key">): Promise<WebSocket> {
  const headers = { authorization: `Bearer ${key}` };
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/responses`, { headers });
  socket.on("error", () => {});
  await once(socket, "open");
  return socket;
}

const overSocket: Door = async (served, body) => {
  const socket = await connected(served);
  socket.send(body);
  const [data] = (await once(socket, "message")) as [Buffer];
  socket.terminate();
  const { status, error } = JSON.parse(data.toString()) as { readonly status: number; readonly error: unknown };
  return { status, text: JSON.stringify(error) };
};

/** Every declared route that reads a body, so that a new one is tried as well. */
const paths = routes.flatMap(({ body, path }) => (body === undefined ? [] : [path.replaceAll(/\{\w+\}/g, "x")]));
const doors = new Map<string, Door>(paths.map((path) => [path, http(path)]));
if (canServeSockets()) doors.set("a WebSocket", overSocket);
for (const [name, send] of rpcDoors("json")) doors.set(name, (served, body) => send(served, Buffer.from(body)));

const fits = { ...ask(""), type: "response.create", input: "x", prompt: "x", max_tokens: 9 };
const withMember = (name: string, json: string) => `${JSON.stringify(fits).slice(0, -1)},"${name}":${json}}`;
const tool = (description: string) =>
  JSON.stringify([{ type: "function", function: { name: "a", description, parameters: {} } }]);

const bodies: readonly (readonly [what: string, body: () => string, status: number, says: RegExp])[] = [
  ["300,000 members", () => withMember("metadata", `[${'{"a":1},'.repeat(150_000)}0]`), 413, /JSON values/],
  ["300,000 empty lists", () => withMember("metadata", `[${"[],".repeat(300_000)}0]`), 413, /JSON values/],
  ["300 levels", () => withMember("metadata", "[".repeat(300) + "]".repeat(300)), 400, /levels deep/],
  ["9 MB of words", () => withMember("user", JSON.stringify("words ".repeat(1_600_000))), 413, /more than 8 MB/],
  ["9 MB of letters where no image stands", () => withMember("tools", tool("A".repeat(9 * megabyte))), 413, /8 MB/],
  ["no JSON", () => "{", 400, /./],
];

it.each(rowsOf(bodies))("every door refuses a body by the same limits: %s", async (_, bodyOf, status, says) => {
  const { served } = world();
  const body = bodyOf();
  for (const [door, send] of doors) {
    const refused = await send(served, body);
    expect([door, refused.status, says.test(refused.text)]).toEqual([door, status, true]);
  }
});

const words = Buffer.from("words ".repeat(1_600_000));
const messages: readonly (readonly [what: string, message: () => Uint8Array, status: number, says: RegExp])[] = [
  ["300,000 fields", () => Buffer.alloc(600_000, Buffer.from([0x78, 0])), 413, /JSON values/],
  ["300,000 elements of a packed list", () => packedTools(300_000), 413, /JSON values/],
  ["9 MB of words", () => requestOf({ systemPrompt: words.toString() }), 413, /more than 8 MB/],
  ["no protobuf", () => Buffer.alloc(100, 0xff), 400, /./],
];

const requestOf = (chat: MessageInitShape<typeof StreamUnifiedChatRequestSchema>) => {
  const request = { case: "streamUnifiedChatRequest", value: create(StreamUnifiedChatRequestSchema, chat) } as const;
  const value = create(StreamUnifiedChatRequestWithToolsSchema, { request });
  return toBinary(
    ClientMessageSchema,
    create(ClientMessageSchema, { seqno: 0, request: { case: "clientChunk", value } }),
  );
};
const packedTools = (count: number) => requestOf({ supportedTools: Array.from({ length: count }, () => 1) });

it.each(rowsOf(messages))(
  "every door of the stream protocol refuses a message by the same limits: %s",
  async (_, messageOf, status, says) => {
    const { served } = world();
    const message = messageOf();
    for (const [door, send] of messageDoors()) {
      const refused = await send(served, message);
      expect([door, refused.status, says.test(refused.text)]).toEqual([door, status, true]);
    }
  },
);

it("every method of the stream protocol refuses protobuf of 300,000 fields", async () => {
  const { served } = world();
  for (const [door, send] of rpcDoors("proto")) {
    const refused = await send(served, Buffer.alloc(600_000, Buffer.from([0x78, 0])));
    expect([door, refused.status, /JSON values/.test(refused.text)]).toEqual([door, 413, true]);
  }
});

it.runIf(process.platform === "linux")(
  "64 hostile messages at once take less than 400 MB, and others are served meanwhile",
  async () => {
    const { served, ide } = world();
    const { stdout } = await millrace(["keys", "create", "hostile"], { home: ide.home });
    const target = { url: served.url, key: stdout.trim() };
    const body = Buffer.from(withMember("metadata", `[${"[],".repeat(3_000_000)}0]`));
    const ways = [...rpcDoors("json").values()];
    const refusals = Array.from({ length: 64 }, async (_, n) => ways[n % ways.length]?.(target, body));
    const over = new AbortController();
    void Promise.allSettled(refusals).then(() => over.abort());
    let [most, others] = [0, 0];
    while (!over.signal.aborted) {
      expect((await fetch(`${served.url}/health`)).ok).toBe(true);
      others++;
      const [, kilobytes = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${served.pid}/status`, "utf8")) ?? [];
      most = Math.max(most, Number(kilobytes) * 1024);
    }
    expect(others).toBeGreaterThan(1);
    expect(most).toBeLessThan(400 * megabyte);
  },
);

it.runIf(canServeSockets()).each([
  ["700,000 members", () => withMember("metadata", `[${'{"a-member-name":1},'.repeat(700_000)}0]`)],
  ["5 million empty lists", () => withMember("metadata", `[${"[],".repeat(5_000_000)}0]`)],
])("others are served while a WebSocket brings %s", async (_, bodyOf) => {
  const { served } = world();
  const refusal = overSocket(served, bodyOf());
  const other = fetch(`${served.url}/health`).then(({ ok }) => ok);
  expect(await Promise.race([other, refusal.then(() => false)])).toBe(true);
  expect((await refusal).status).toBe(413);
});

describe.runIf(canServeSockets())("WebSockets of one key", () => {
  const openSockets: WebSocket[] = [];
  const open = async (target: Pick<GatewayProcess, "url" | "key">) => {
    const socket = await connected(target);
    openSockets.push(socket);
    return socket;
  };

  it("leave a place to the owner, and to another key", async () => {
    const { served, ide } = world();
    const keyNamed = async (name: string) => {
      const { stdout } = await millrace(["keys", "create", name], { home: ide.home });
      return stdout.trim();
    };
    const [one, two] = [await keyNamed("one"), await keyNamed("two")];
    const { url } = served;
    const refused = async (key: string) => {
      const socket = new WebSocket(`${url.replace("http", "ws")}/v1/responses`, {
        headers: { authorization: `Bearer ${key}` },
      });
      socket.on("error", () => {});
      const [, answer] = (await once(socket, "unexpected-response")) as [unknown, { readonly statusCode: number }];
      socket.terminate();
      return answer.statusCode;
    };
    for (let n = 0; n < 16; n++) await open({ url, key: one });
    expect(await refused(one)).toBe(503);
    for (let n = 0; n < 16; n++) await open({ url, key: two });
    expect(await refused(two)).toBe(503);
    for (let n = 0; n < 32; n++) await open(served);
    expect(await refused(served.key)).toBe(503);
    for (const socket of openSockets.splice(0)) socket.terminate();
  });

  it("that send large messages end where they take all memory, and a small request is served", async () => {
    const { served } = world();
    const closes: Promise<unknown>[] = [];
    const message = "A".repeat(15 * megabyte);
    for (let n = 0; n < 12; n++) {
      const socket = await open(served);
      closes.push(once(socket, "close"));
      socket.send(message, { fin: false }, () => {}); // none of them ever ends
    }
    const [code] = (await Promise.race(closes)) as [number];
    expect([1006, 1013]).toContain(code); // the reason is lost where the client was still sending
    expect(await overSocket(served, JSON.stringify({ type: "nothing" }))).toMatchObject({ status: 400 });
    expect((await fetch(`${served.url}/health`)).status).toBe(200);
    for (const socket of openSockets.splice(0)) socket.terminate();
  });

  it("that only prepare keep no more than one request may have", async () => {
    const { served } = world();
    const socket = await open(served);
    const input = Array.from({ length: 4 }, () => ({ role: "user", content: "words ".repeat(100_000) }));
    const messages = on(socket, "message", { signal: patience() });
    const read = async () => {
      const { value } = await messages.next();
      const [data] = value as [Buffer];
      return JSON.parse(data.toString()) as { type: string; status?: number; response?: { id: string } };
    };
    let previous: string | undefined;
    const statuses: (number | undefined)[] = [];
    for (let n = 0; n < 5; n++) {
      socket.send(JSON.stringify({ type: "response.create", generate: false, input, previous_response_id: previous }));
      let event = await read();
      while (event.type === "response.created") event = await read();
      statuses.push(event.status);
      previous = event.response?.id ?? previous;
    }
    expect(statuses).toEqual([undefined, undefined, undefined, 413, 413]);
    socket.terminate();
  });
});
