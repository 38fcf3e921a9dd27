import { type ClientHttp2Session, connect } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  GetCascadeTranscriptForTrajectoryIdRequestSchema,
  GetCascadeTranscriptForTrajectoryIdResponseSchema,
  SendUserCascadeMessageRequestSchema,
  StartCascadeResponseSchema,
} from "../../src/proto/windsurf/exa/language_server_pb.ts";
import { type Growth, type Lags, lagsOf, nowMs } from "./answer.ts";

/** What the process is told to do, once. */
export interface PollOrder {
  readonly port: number;
  readonly growth: Growth;
  readonly pollMs: number;
  readonly streams: number;
  /** One answer after another; all at once otherwise. */
  readonly inTurn?: boolean;
}

export interface PollReport {
  readonly lags: readonly Lags[];
  readonly cpuMs: number;
  readonly residentBytes: number;
}

const service = "/exa.language_server_pb.LanguageServerService/";
const assistant = "=== MESSAGE 1 - Assistant ===\n";
const end = "\n\n=== MESSAGE 2 - Tool ===";

/** The least that can follow an answer: one HTTP/2 connection, a poll at a fixed pace, nothing stored and nothing served. */
async function poll(session: ClientHttp2Session, { growth, pollMs }: PollOrder): Promise<Lags> {
  const askedAtMs = nowMs();
  const { cascadeId } = fromBinary(StartCascadeResponseSchema, await call(session, "StartCascade", new Uint8Array(0)));
  const items = [{ chunk: { case: "text" as const, value: "bare" } }];
  const message = create(SendUserCascadeMessageRequestSchema, { cascadeId, items });
  await call(session, "SendUserCascadeMessage", toBinary(SendUserCascadeMessageRequestSchema, message));
  const asked = create(GetCascadeTranscriptForTrajectoryIdRequestSchema, { cascadeId });
  const request = toBinary(GetCascadeTranscriptForTrajectoryIdRequestSchema, asked);
  const points: { atMs: number; length: number }[] = [];
  for (;;) {
    const body = await call(session, "GetCascadeTranscriptForTrajectoryId", request);
    const { transcript } = fromBinary(GetCascadeTranscriptForTrajectoryIdResponseSchema, body);
    const atMs = nowMs();
    const from = transcript.indexOf(assistant) + assistant.length;
    const endAt = transcript.indexOf(end);
    const length = from < assistant.length ? 0 : (endAt < 0 ? transcript.length - 2 : endAt) - from;
    if (length > (points.at(-1)?.length ?? 0)) points.push({ atMs, length });
    if (endAt >= 0) return lagsOf({ askedAtMs, points, endAtMs: atMs }, transcript.slice(from, from + 24), growth);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

function call(session: ClientHttp2Session, rpc: string, message: Uint8Array): Promise<Uint8Array> {
  const request = session.request({
    ":method": "POST",
    ":path": service + rpc,
    "content-type": "application/grpc+proto",
    te: "trailers",
  });
  const framed = Buffer.alloc(5 + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, 5);
  request.end(framed);
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("error", reject);
    request.on("end", () => resolve(Buffer.concat(pieces).subarray(5)));
  });
}

process.once("message", (order: PollOrder) => void run(order));

async function run(order: PollOrder): Promise<void> {
  const session = connect(`http://127.0.0.1:${order.port}`);
  const before = process.cpuUsage();
  const lags: Lags[] = [];
  if (order.inTurn === true) for (let at = 0; at < order.streams; at++) lags.push(await poll(session, order));
  else lags.push(...(await Promise.all(Array.from({ length: order.streams }, () => poll(session, order)))));
  const { user, system } = process.cpuUsage(before);
  session.close();
  const report: PollReport = { lags, cpuMs: (user + system) / 1000, residentBytes: process.memoryUsage.rss() };
  process.send?.(report, () => process.disconnect());
}
