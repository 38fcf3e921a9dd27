import { connect } from "node:http2";
import { fromBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { endStreamFlag } from "@connectrpc/connect/protocol-connect";
import { describe, expect, test } from "vitest";
import { BidiService, ChatService, ErrorDetails_Error, ErrorDetailsSchema } from "../../proto/aiserver/v1/chat_pb.ts";
import { fakeKey } from "../gateway.fake.ts";
import { headersOf, newNames, type StreamWorld, streamWorld } from "./stream-world.fake.ts";

const chat = (name: string) => `/${ChatService.typeName}/StreamUnifiedChatWithToolsIdempotent${name}`;
const append = `/${BidiService.typeName}/BidiAppend`;
const streamType = "application/connect+proto";
/** A field that says it is longer than the message. */
const garbage = Uint8Array.of(0x0a, 0xff, 0x01);
const maxBodyBytes = 100;
const large = new Uint8Array(1024 * 1024); // more than one packet: the rest is under way when the refusal is written

/** Posts bytes of unknown length over HTTP/1.1 or HTTP/2, and takes the answer whole. */
async function post({ listening }: StreamWorld, path: string, type: string, bytes: Uint8Array, version: "1.1" | "2") {
  const headers = { "x-api-key": fakeKey, "content-type": type, ...headersOf(newNames()) };
  if (version === "1.1") {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(bytes);
        controller.close();
      },
    });
    const response = await fetch(listening.url + path, { method: "POST", headers, body, duplex: "half" });
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
  }
  const session = connect(listening.url);
  try {
    const stream = session.request({ ":method": "POST", ":path": path, ...headers });
    let status = 0;
    stream.on("response", (told) => {
      status = told[":status"] ?? 0;
    });
    stream.end(bytes);
    const pieces: Buffer[] = [];
    for await (const piece of stream) pieces.push(piece);
    return { status, body: Buffer.concat(pieces) };
  } finally {
    session.close();
  }
}

/** The error that ends a stream's answer, or is a call's, as an original client looks at it. */
function errorOf({ status, body }: { readonly status: number; readonly body: Buffer }) {
  const error = status === 200 ? JSON.parse(endOf(body)).error : JSON.parse(body.toString());
  const [first] = error.details ?? [];
  const found = first && fromBinary(ErrorDetailsSchema, Buffer.from(first.value, "base64"));
  const { isRetryable, additionalInfo: info } = found?.details ?? {};
  return { status, code: error.code, number: found?.error, isRetryable, info };
}

/** What the last envelope of a stream holds. */
function endOf(body: Buffer): string {
  for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1))
    if (body[at] === endStreamFlag) return body.subarray(at + 5).toString();
  throw new Error("the stream has no end");
}

const streams = [
  ["tier 1, both ways", chat(""), "2"],
  ["tier 2, the way down", chat("SSE"), "1.1"],
  ["tier 2, over HTTP/2", chat("SSE"), "2"],
  ["tier 3, a poll", chat("Poll"), "1.1"],
  ["tier 3, over HTTP/2", chat("Poll"), "2"],
] as const;
const appends = [["1.1"], ["2"]] as const;
const bad = { number: ErrorDetails_Error.BAD_REQUEST, isRetryable: false };

describe("a message that cannot be read is refused with details, so that an original client does not try for ever (R15)", () => {
  test.each(streams)("%s", async (_, path, version) => {
    const world = await streamWorld();
    const answer = await post(world, path, streamType, encodeEnvelope(0, garbage), version);
    const info = { code: "invalid_request" };
    expect(errorOf(answer)).toMatchObject({ ...bad, status: 200, code: "invalid_argument", info });
  });

  test.each(appends)("BidiAppend over HTTP/%s", async (version) => {
    const world = await streamWorld();
    const info = { code: "invalid_request" };
    const answer = await post(world, append, "application/proto", garbage, version);
    expect(errorOf(answer)).toMatchObject({ ...bad, status: 400, code: "invalid_argument", info });
    const json = await post(world, append, "application/json", Buffer.from("{"), version);
    expect(errorOf(json)).toMatchObject({ ...bad, status: 400, code: "invalid_argument", info });
  });

  test("also when the ask is missing", async () => {
    const world = await streamWorld();
    for (const path of [chat("SSE"), chat("Poll")])
      expect(errorOf(await post(world, path, streamType, new Uint8Array(), "1.1"))).toMatchObject(bad);
  });
});

describe("a message that is too large is refused with details though its length was not announced", () => {
  test.each(streams)("%s", async (_, path, version) => {
    const world = await streamWorld({ gateway: { maxBodyBytes } });
    const answer = await post(world, path, streamType, encodeEnvelope(0, large), version);
    const info = { reason: "too_large" };
    expect(errorOf(answer)).toMatchObject({ ...bad, status: 200, code: "resource_exhausted", info });
  });

  test.each(appends)("BidiAppend over HTTP/%s", async (version) => {
    const world = await streamWorld({ gateway: { maxBodyBytes } });
    const answer = await post(world, append, "application/proto", large, version);
    const info = { reason: "too_large" };
    expect(errorOf(answer)).toMatchObject({ ...bad, status: 429, code: "resource_exhausted", info });
  });
});

test("what another attach mends keeps its lack of details", async () => {
  const world = await streamWorld();
  const ask = Buffer.from(JSON.stringify({ requestId: { requestId: "unknown" } }));
  const answer = await post(world, chat("Poll"), "application/connect+json", encodeEnvelope(0, ask), "1.1");
  expect(errorOf(answer)).toMatchObject({ status: 200, code: "unavailable", number: undefined });
});
