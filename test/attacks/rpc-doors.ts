import { randomBytes, randomUUID } from "node:crypto";
import { connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { BidiAppendRequestSchema } from "../../src/proto/aiserver/v1/chat_pb.ts";
import { patience } from "../support/world.ts";
import { type RpcTarget, rpcTargets } from "./rpc-rows.ts";

/** A gateway, and the key of the one who calls. */
export interface DoorTarget {
  readonly url: string;
  readonly key: string;
}

/** A refusal: its status, and all that was answered. */
export interface DoorAnswer {
  readonly status: number;
  readonly text: string;
}

const bidiName = "StreamUnifiedChatWithToolsIdempotent";

export type Format = "json" | "proto";

/** The header fields with which a client attaches to a new stream. */
const attachHeaders = () => ({
  "x-idempotency-key": randomUUID(),
  "x-idempotent-encryption-key": randomBytes(32).toString("base64url"),
});

/** A message of a stream, with its length before it; as it is, or packed with gzip. */
export function envelope(message: Uint8Array, isPacked = false): Uint8Array {
  const data = isPacked ? gzipSync(message) : message;
  const head = Buffer.alloc(5);
  head.writeUInt8(isPacked ? 1 : 0);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

/**
 * Every way to bring one message to the stream protocol: each method of it, plain and packed. The status of the answer is 413 where the
 * refusal's reason is `too_large`, and 400 for another refusal of the message, because a stream itself is always answered 200.
 */
export function rpcDoors(
  format: Format,
): ReadonlyMap<string, (target: DoorTarget, message: Uint8Array) => Promise<DoorAnswer>> {
  return new Map(
    rpcTargets().flatMap((method) =>
      [false, true].map((isPacked) => [
        `${method.name}, ${format}${isPacked ? ", packed" : ""}`,
        (target: DoorTarget, message: Uint8Array) => call(target, { method, format, isPacked }, message),
      ]),
    ),
  );
}

/** Every way to bring a client's message, as protobuf, to a stream: in the stream itself, and in an append in each of its forms. */
export function messageDoors(): ReadonlyMap<string, (target: DoorTarget, message: Uint8Array) => Promise<DoorAnswer>> {
  const json = (member: string, encoding: "hex" | "base64") => (message: Uint8Array) =>
    Buffer.from(
      JSON.stringify({ requestId: { requestId: randomUUID() }, [member]: Buffer.from(message).toString(encoding) }),
    );
  const forms: readonly [format: Format, append: (message: Uint8Array) => Uint8Array][] = [
    ["json", json("data", "hex")],
    ["json", json("dataBinary", "base64")],
    [
      "proto",
      (dataBinary) =>
        toBinary(
          BidiAppendRequestSchema,
          create(BidiAppendRequestSchema, { requestId: { requestId: randomUUID() }, dataBinary }),
        ),
    ],
  ];
  const [appends, bidi] = ["BidiAppend", bidiName].map((name) => rpcTargets().find((target) => target.name === name));
  if (appends === undefined || bidi === undefined) throw new Error("A method of the protocol has another name now.");
  return new Map([
    ...forms.map(
      ([format, append], at) =>
        [
          `an append, ${format} ${at}`,
          (target: DoorTarget, message: Uint8Array) =>
            call(target, { method: appends, format, isPacked: false }, append(message)),
        ] as const,
    ),
    [
      "a stream",
      (target: DoorTarget, message: Uint8Array) =>
        call(target, { method: bidi, format: "proto", isPacked: false }, message),
    ],
  ]);
}

interface Way {
  readonly method: RpcTarget;
  readonly format: Format;
  readonly isPacked: boolean;
}

async function call(target: DoorTarget, { method, format, isPacked }: Way, message: Uint8Array): Promise<DoorAnswer> {
  const isUnary = method.contentType === "application/json";
  const coding = isUnary ? "content-encoding" : "connect-content-encoding";
  const headers = {
    ...attachHeaders(),
    authorization: `Bearer ${target.key}`,
    "connect-protocol-version": "1",
    "content-type": method.contentType.replace("json", format),
    ...(isPacked ? { [coding]: "gzip" } : {}),
  };
  const unaryBody = isPacked ? gzipSync(message) : message;
  const body = isUnary ? unaryBody : envelope(message, isPacked);
  const isBidi = method.name === bidiName;
  const text = isBidi
    ? await overHttp2(target, method.path, headers, body)
    : await overHttp1(target, method.path, headers, body);
  if (text.includes('"too_large"')) return { status: 413, text };
  return { status: text.includes('"invalid_argument"') ? 400 : 200, text };
}

async function overHttp1(
  { url }: DoorTarget,
  path: string,
  headers: Record<string, string>,
  body: Uint8Array,
): Promise<string> {
  const answer = await fetch(`${url}${path}`, { method: "POST", headers, body, signal: patience() });
  return await answer.text();
}

/** The answer to a stream whose client sends one message and waits. */
async function overHttp2(
  { url }: DoorTarget,
  path: string,
  headers: Record<string, string>,
  body: Uint8Array,
): Promise<string> {
  const session = connect(url);
  session.on("error", () => {}); // the request tells
  const request = session.request({ ":method": "POST", ":path": path, ...headers }, { signal: patience() });
  request.write(body);
  try {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    return Buffer.concat(pieces).toString();
  } finally {
    session.destroy();
  }
}
