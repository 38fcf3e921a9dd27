import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import { expect, it } from "vitest";
import {
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import { scannedCall } from "./message-door.ts";

const mostBytes = 10_000;

function message(size: number): Uint8Array {
  const mcpResult = { result: "r".repeat(size) };
  const request = { case: "clientSideToolV2Result", value: { toolCallId: "call", mcpResult } } as const;
  const init = { seqno: 0, request: { case: "clientChunk", value: { request } } } as const;
  return toBinary(ClientMessageSchema, create(ClientMessageSchema, init) satisfies ClientMessage);
}

function enveloped(data: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

/** Reads a call of these bytes, in pieces of this size. */
async function read(bytes: Buffer, piece = bytes.length) {
  const held: number[] = [];
  const header = new Headers({ "content-type": "application/connect+proto", "connect-content-encoding": "gzip" });
  async function* body() {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
  }
  const call = { header, body: body() } as unknown as Parameters<typeof scannedCall>[0]; // nothing else of it is read
  const handler = {
    method: { methodKind: "bidi_streaming", input: ClientMessageSchema },
  } as unknown as UniversalHandler; // as above
  const memory = { hold: (size: number) => void held.push(size) };
  const scanned: UniversalServerRequest = scannedCall(call, handler, { mostBytes, memory, refused: () => {} });
  const pieces: Uint8Array[] = [];
  for await (const part of scanned.body as AsyncIterable<Uint8Array>) pieces.push(part);
  return { held, read: Buffer.concat(pieces) };
}

it("messages pass as they are, however they are cut, and each gives its memory back before the next one", async () => {
  const sent = Buffer.concat([enveloped(message(5_000)), enveloped(message(10)), enveloped(message(6_000))]);
  for (const piece of [1, 777, sent.length]) {
    const { held, read: got } = await read(sent, piece);
    expect(got.equals(sent)).toBe(true);
    expect(held.at(-1)).toBe(0);
    expect(Math.max(...held)).toBeLessThan(9_000); // never two of them
  }
});

it("a message has a largest size, before it is unpacked and after", async () => {
  const large = message(mostBytes);
  const refused = { code: 3, message: expect.stringContaining("larger than") as string };
  await expect(read(enveloped(large))).rejects.toMatchObject(refused);
  await expect(read(enveloped(gzipSync(large), 1))).rejects.toMatchObject(refused);
  const { read: got } = await read(enveloped(gzipSync(message(9_000)), 1));
  expect(got.equals(enveloped(message(9_000)))).toBe(true);
});
