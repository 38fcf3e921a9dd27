import { once } from "node:events";
import { type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { buffer } from "node:stream/consumers";
import { fromBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { endStreamFlag } from "@connectrpc/connect/protocol-connect";
import { describe, expect, test } from "vitest";
import {
  BidiService,
  ChatService,
  ErrorDetails_Error,
  ErrorDetailsSchema,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import { fakeKey } from "../../gateway.fake.ts";
import { headersOf, newNames, type StreamWorld, streamWorld } from "../stream-world.fake.ts";

const chat = (name: string) => `/${ChatService.typeName}/StreamUnifiedChatWithToolsIdempotent${name}`;
const append = `/${BidiService.typeName}/BidiAppend`;
const streamType = "application/connect+proto";
/** A field whose length is greater than the message's. */
const garbage = Uint8Array.of(0x0a, 0xff, 0x01);
const maxBodyBytes = 100;
const large = new Uint8Array(1024 * 1024); // more than one packet: the rest is under way when the refusal is written

interface Call {
  readonly method: string;
  readonly path: string;
  readonly type: string | undefined;
  readonly bytes: Uint8Array;
  readonly version: "1.1" | "2";
}

/** A whole answer. */
interface Answer {
  readonly status: number;
  readonly body: Buffer;
  readonly allow: string | undefined;
  readonly connection: string | undefined;
}

/** Sends bytes of unknown length over HTTP/1.1 or HTTP/2. */
async function send({ listening: { url } }: StreamWorld, call: Call): Promise<Answer> {
  const typed = call.type === undefined ? {} : { "content-type": call.type };
  const headers = { "x-api-key": fakeKey, ...typed, ...headersOf(newNames()) };
  return call.version === "2" ? sendHttp2(url, call, headers) : sendHttp1(url, call, headers);
}

async function sendHttp1(url: string, { method, path, bytes }: Call, headers: OutgoingHttpHeaders): Promise<Answer> {
  const sent = request(url + path, { method, headers }).end(bytes);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const { allow, connection } = answer.headers;
  return { status: answer.statusCode ?? 0, body: await buffer(answer), allow, connection };
}

async function sendHttp2(url: string, { method, path, bytes }: Call, headers: OutgoingHttpHeaders): Promise<Answer> {
  const session = connect(url);
  try {
    const sent = session.request({ ":method": method, ":path": path, ...headers }).end(bytes);
    const [{ ":status": status, allow }] = (await once(sent, "response")) as [IncomingHttpHeaders];
    return { status: Number(status), body: await buffer(sent), allow, connection: undefined };
  } finally {
    session.close();
  }
}

function post(world: StreamWorld, path: string, type: string, bytes: Uint8Array, version: "1.1" | "2") {
  return send(world, { method: "POST", path, type, bytes, version });
}

/** The error that ends a stream's answer, or is a call's, as an original client looks at it. */
function errorOf({ status, body }: Answer) {
  const error = status === 200 ? JSON.parse(endOf(body)).error : JSON.parse(body.toString());
  const [first] = error.details ?? [];
  const found = first && fromBinary(ErrorDetailsSchema, Buffer.from(first.value, "base64"));
  const { isRetryable, additionalInfo: info } = found?.details ?? {};
  return { status, code: error.code, number: found?.error, isRetryable, info };
}

/** The content of a stream's last envelope. */
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

describe("a message that cannot be read is refused with details, so that an original client does not try for ever", () => {
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

describe("a call that is none of ours is refused with details, as a stream where it speaks of one", () => {
  /** The answer to a call with this method, content type and path, over both versions of HTTP. */
  async function refusals(method: string, path: string, type: string | undefined) {
    const world = await streamWorld();
    const call = (version: "1.1" | "2") =>
      send(world, { method, path, type, bytes: encodeEnvelope(0, garbage), version });
    return { http1: await call("1.1"), http2: await call("2") };
  }

  test.each([
    ["POST", chat("SSE"), "text/plain", 415],
    ["POST", append, "text/plain", 415],
    ["PUT", chat("SSE"), streamType, 405],
  ])(
    "but for another verb or content type, which has its status alone: %s of %s as %s",
    async (method, path, given, status) => {
      for (const answer of Object.values(await refusals(method, path, given))) expect(answer.status).toBe(status);
    },
  );

  test("a method of another service, the same over both versions", async () => {
    for (const path of ["/agent.v1.AgentService/Run", "/aiserver.v1.HealthService/Ping", `/${ChatService.typeName}/`])
      for (const answer of Object.values(await refusals("POST", path, streamType)))
        expect(errorOf(answer)).toMatchObject({
          status: 200,
          code: "unimplemented",
          info: { reason: "no_such_method" },
        });
  });

  test("both ways over HTTP/1.1, and its connection is closed: who sends on until the end would not get to one", async () => {
    const { http1 } = await refusals("POST", chat(""), streamType);
    expect(errorOf(http1)).toMatchObject({ status: 200, code: "unimplemented", info: { reason: "needs_http2" } });
    expect(http1.connection).toBe("close");
  });
});

test("what another attach mends keeps its lack of details", async () => {
  const world = await streamWorld();
  const ask = Buffer.from(JSON.stringify({ requestId: { requestId: "unknown" } }));
  const answer = await post(world, chat("Poll"), "application/connect+json", encodeEnvelope(0, ask), "1.1");
  expect(errorOf(answer)).toMatchObject({ status: 200, code: "unavailable", number: undefined });
});
