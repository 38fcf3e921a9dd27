import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import type { MessageInit, TierName } from "../../src/gateway/idempotent/raw-client.fake.ts";
import { headersOf, type StreamNames } from "../../src/gateway/idempotent/stream-world.fake.ts";
import {
  BidiAppendRequestSchema,
  BidiPollRequestSchema,
  BidiRequestIdSchema,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
} from "../../src/proto/aiserver/v1/chat_pb.ts";
import { resetSocket } from "../support/reset-socket.ts";

/** How a client leaves, so many ms after the system took its last byte: it ends its connections, or they break; or, over HTTP/2, its call alone. */
export interface Leaving {
  readonly afterMs: number;
  readonly how: "fin" | "rst" | "call";
}

interface Target {
  readonly url: string;
  readonly key: string;
}

const chat = "/aiserver.v1.ChatService/StreamUnifiedChatWithToolsIdempotent";

/**
 * Attaches afresh, says this, and leaves without reading a word. Resolves once it has left.
 * Source: docs/wire/idempotent-streams.md, "Client algorithm".
 */
export async function sayAndLeave(
  tier: TierName,
  target: Target,
  names: StreamNames,
  said: readonly MessageInit[],
  leaving: Leaving,
): Promise<void> {
  const messages = said.map((init) => toBinary(ClientMessageSchema, create(ClientMessageSchema, init)));
  const headers = { authorization: `Bearer ${target.key}`, ...headersOf(names) };
  if (tier === "bidi") return callBidi(target, headers, messages, leaving);
  const requestId = { requestId: crypto.randomUUID() };
  const down =
    tier === "sse"
      ? post(
          target,
          `${chat}SSE`,
          headers,
          streamed(toBinary(BidiRequestIdSchema, create(BidiRequestIdSchema, requestId))),
        )
      : post(
          target,
          `${chat}Poll`,
          headers,
          streamed(toBinary(BidiPollRequestSchema, create(BidiPollRequestSchema, { requestId, startRequest: true }))),
        );
  const appends = messages.map((dataBinary, at) => {
    const append = create(BidiAppendRequestSchema, { requestId, dataBinary, appendSeqno: BigInt(at) });
    const bytes = toBinary(BidiAppendRequestSchema, append);
    const authorization = { authorization: headers.authorization };
    return post(target, "/aiserver.v1.BidiService/BidiAppend", authorization, { type: "application/proto", bytes });
  });
  const sockets = await Promise.all([down, ...appends]);
  await pause(leaving.afterMs);
  await Promise.all(sockets.map((socket) => leave(socket, leaving)));
}

async function callBidi(
  { url }: Target,
  headers: Readonly<Record<string, string>>,
  messages: readonly Uint8Array[],
  leaving: Leaving,
): Promise<void> {
  const socket = await connected(url);
  const session = connectHttp2(url, { createConnection: () => socket });
  session.on("error", () => {}); // it is broken on purpose
  const call = session.request({
    ":method": "POST",
    ":path": chat,
    "content-type": "application/connect+proto",
    ...headers,
  });
  call.on("error", () => {}); // as above
  for (const message of messages) await new Promise((written) => call.write(encodeEnvelope(0, message), written));
  await pause(leaving.afterMs);
  if (leaving.how === "call") {
    call.close(constants.NGHTTP2_CANCEL);
    if (!call.destroyed) await once(call, "close");
  }
  await leave(socket, leaving);
  session.destroy();
}

async function post(
  { url }: Target,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: { readonly type: string; readonly bytes: Uint8Array },
): Promise<Socket> {
  const socket = await connected(url);
  const lines = Object.entries({
    host: new URL(url).host,
    "content-type": body.type,
    "content-length": String(body.bytes.length),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  await new Promise((written) => socket.write(Buffer.concat([head, body.bytes]), written));
  return socket;
}

function streamed(message: Uint8Array): { readonly type: string; readonly bytes: Uint8Array } {
  return { type: "application/connect+proto", bytes: encodeEnvelope(0, message) };
}

async function connected(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setNoDelay(true);
  socket.on("error", () => {}); // as above
  await once(socket, "connect");
  return socket;
}

async function leave(socket: Socket, { how }: Leaving): Promise<void> {
  if (socket.closed) return;
  const gone = once(socket, "close");
  if (how === "rst") resetSocket(socket);
  else socket.destroySoon();
  await gone;
}
