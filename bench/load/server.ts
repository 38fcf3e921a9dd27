import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { accountModels, userStatus } from "../../simulator/parts.ts";
import { CascadeRunStatus, CortexStepStatus, CortexStepType } from "../../src/proto/windsurf/exa/cortex_pb.ts";
import {
  GetCascadeTrajectoryRequestSchema,
  GetCascadeTrajectoryResponseSchema,
  GetCascadeTrajectoryStepsRequestSchema,
  GetCascadeTrajectoryStepsResponseSchema,
  GetCascadeTranscriptForTrajectoryIdRequestSchema,
  GetCascadeTranscriptForTrajectoryIdResponseSchema,
  GetUserStatusResponseSchema,
  SendUserCascadeMessageRequestSchema,
  StartCascadeResponseSchema,
} from "../../src/proto/windsurf/exa/language_server_pb.ts";
import { answerText, endsAtMs, type Growth, lengthAt, nowMs } from "./answer.ts";

/**
 * A language server that costs as little as it can: its answers exist by the clock alone, and every reader knows from their first
 * characters when each further one could be read. A process of its own, told what to be once, over IPC.
 */
export interface ServerOrder {
  readonly growth: Growth;
  /** Typed steps, or the transcript only. */
  readonly steps: boolean;
  readonly protocol: "grpc" | "connect";
}

export interface ServerReady {
  readonly port: number;
}

/** What came over the wire so far; asked with `"report"`. */
export interface ServerReport {
  readonly prompts: number;
  /** Calls that are not polls. */
  readonly otherCalls: number;
  readonly polls: number;
  readonly connections: number;
}

/** Reports once so many prompts more have come, and what the process had used by each. */
export interface WatchOrder {
  readonly prompts: number;
  readonly pid: number;
}

export interface WatchReport {
  /** Processor time of the process since the order, at each prompt; ms. */
  readonly cpuMs: readonly number[];
}

interface Turn {
  readonly prompt: string;
  readonly firstAtMs: number;
  readonly text: string;
}

type Answer = { readonly body: Uint8Array } | { readonly unimplemented: true };

const nothing = new Uint8Array(0);
const unimplemented: Answer = { unimplemented: true };
const counts = { prompts: 0, otherCalls: 0, polls: 0, connections: 0 };
let watched: { readonly order: WatchOrder; readonly sinceMs: number; readonly cpuMs: number[] } | undefined;
const cascades = new Map<string, Turn | undefined>();

process.once("message", (order: ServerOrder) => {
  const answer = (rpc: string, body: Uint8Array) => answerTo(rpc, body, order);
  const server =
    order.protocol === "grpc"
      ? createHttp2Server().on("stream", (stream, headers) => serveGrpc(stream, String(headers[":path"]), answer))
      : createHttpServer({ keepAliveTimeout: 60_000 }, (request, response) => serveConnect(request, response, answer));
  server.on("connection", () => counts.connections++);
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo; // it listens on TCP
    process.send?.({ port } satisfies ServerReady);
  });
  process.on("message", (asked) => {
    if (asked === "report") process.send?.({ ...counts } satisfies ServerReport);
    else watched = { order: asked as WatchOrder, sinceMs: cpuMsOf((asked as WatchOrder).pid), cpuMs: [] }; // its own wire
  });
});

function answerTo(path: string, body: Uint8Array, { growth, steps }: ServerOrder): Answer {
  counts.otherCalls++;
  switch (path.slice(path.lastIndexOf("/") + 1)) {
    case "GetUnleashData":
    case "InitializeCascadePanelState":
    case "ArchiveCascadeTrajectory":
    case "CancelCascadeInvocation":
    case "GetCascadeTrajectoryGeneratorMetadata":
      return { body: nothing };
    case "GetUserStatus":
      return encoded(GetUserStatusResponseSchema, { userStatus: userStatus(accountModels(), undefined) });
    case "StartCascade": {
      const cascadeId = randomUUID();
      cascades.set(cascadeId, undefined);
      return encoded(StartCascadeResponseSchema, { cascadeId });
    }
    case "SendUserCascadeMessage": {
      const { cascadeId, items } = fromBinary(SendUserCascadeMessageRequestSchema, body);
      const prompt = items.map(({ chunk }) => (chunk.case === "text" ? chunk.value : "")).join("");
      const firstAtMs = nowMs() + growth.firstMs;
      cascades.set(cascadeId, { prompt, firstAtMs, text: answerText(firstAtMs, growth) });
      counts.prompts++;
      notePrompt();
      return { body: nothing };
    }
    case "GetCascadeTrajectory":
      if (!steps) return unimplemented;
      return encoded(GetCascadeTrajectoryResponseSchema, {
        status: statusNow(body, growth),
        numTotalSteps: 3 + (growth.quietSteps ?? 0),
      });
    case "GetCascadeTrajectorySteps":
      return steps ? typedSteps(body, growth) : unimplemented;
    case "GetCascadeTranscriptForTrajectoryId":
      return transcript(body, growth);
    default:
      return unimplemented;
  }
}

function notePrompt(): void {
  if (watched === undefined) return;
  const { order, sinceMs, cpuMs } = watched;
  cpuMs.push(cpuMsOf(order.pid) - sinceMs);
  if (cpuMs.length < order.prompts) return;
  watched = undefined;
  process.send?.({ cpuMs } satisfies WatchReport);
}

/** More exact than `costOf`; NaN where the system does not tell. */
function cpuMsOf(pid: number): number {
  try {
    const ns = readdirSync(`/proc/${pid}/task`).map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
    );
    return ns.reduce((sum, one) => sum + one, 0) / 1e6;
  } catch {
    return Number.NaN;
  }
}

function statusNow(body: Uint8Array, growth: Growth): CascadeRunStatus {
  const turn = cascades.get(fromBinary(GetCascadeTrajectoryRequestSchema, body).cascadeId);
  const running = turn !== undefined && nowMs() < endsAtMs(turn.firstAtMs, growth);
  return running ? CascadeRunStatus.RUNNING : CascadeRunStatus.IDLE;
}

function typedSteps(body: Uint8Array, growth: Growth): Answer {
  counts.polls++;
  counts.otherCalls--;
  const { cascadeId, stepOffset } = fromBinary(GetCascadeTrajectoryStepsRequestSchema, body);
  const turn = cascades.get(cascadeId);
  if (turn === undefined) return encoded(GetCascadeTrajectoryStepsResponseSchema, { steps: [] });
  const atMs = nowMs();
  const over = atMs >= endsAtMs(turn.firstAtMs, growth);
  const length = lengthAt(atMs, turn.firstAtMs, growth);
  const all: MessageInitShape<typeof GetCascadeTrajectoryStepsResponseSchema>["steps"] = [
    {
      type: CortexStepType.USER_INPUT,
      status: CortexStepStatus.DONE,
      step: { case: "userInput", value: { userResponse: turn.prompt } },
    },
  ];
  for (let i = 0; i < (growth.quietSteps ?? 0); i++)
    all.push({ type: CortexStepType.TODO_LIST, status: CortexStepStatus.DONE, step: { case: "todoList", value: {} } });
  if (length > 0) {
    const status = over ? CortexStepStatus.DONE : CortexStepStatus.GENERATING;
    const value = { response: turn.text.slice(0, length), messageId: "m" };
    all.push({ type: CortexStepType.PLANNER_RESPONSE, status, step: { case: "plannerResponse", value } });
  }
  if (over)
    all.push({
      type: CortexStepType.CHECKPOINT,
      status: CortexStepStatus.DONE,
      step: { case: "checkpoint", value: {} },
    });
  return encoded(GetCascadeTrajectoryStepsResponseSchema, { steps: all.slice(stepOffset) });
}

function transcript(body: Uint8Array, growth: Growth): Answer {
  counts.polls++;
  counts.otherCalls--;
  const { cascadeId, stepOffset } = fromBinary(GetCascadeTranscriptForTrajectoryIdRequestSchema, body);
  const turn = cascades.get(cascadeId);
  if (turn === undefined) return encoded(GetCascadeTranscriptForTrajectoryIdResponseSchema, {});
  const atMs = nowMs();
  const length = lengthAt(atMs, turn.firstAtMs, growth);
  const blocks = [`=== MESSAGE 0 - User ===\n${turn.prompt}\n\n`];
  const add = (role: string, text: string) => blocks.push(`=== MESSAGE ${blocks.length} - ${role} ===\n${text}\n\n`);
  for (let i = 0; i < (growth.quietSteps ?? 0); i++) add("Tool", "[CORTEX_STEP_TYPE_TODO_LIST]");
  if (length > 0) add("Assistant", turn.text.slice(0, length));
  if (atMs >= endsAtMs(turn.firstAtMs, growth)) add("Tool", "[CORTEX_STEP_TYPE_CHECKPOINT]");
  return encoded(GetCascadeTranscriptForTrajectoryIdResponseSchema, {
    transcript: blocks.slice(stepOffset).join(""),
    numTotalSteps: blocks.length,
  });
}

function encoded<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): Answer {
  return { body: toBinary(schema, create(schema, init)) };
}

type Answering = (path: string, body: Uint8Array) => Answer;

function serveGrpc(stream: ServerHttp2Stream, path: string, answer: Answering): void {
  const pieces: Buffer[] = [];
  stream.on("error", () => {}); // a client that left needs no answer
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  stream.on("end", () => {
    const result = answer(path, Buffer.concat(pieces).subarray(5));
    const head = { ":status": 200, "content-type": "application/grpc+proto" };
    if ("unimplemented" in result) {
      stream.respond({ ...head, "grpc-status": "12", "grpc-message": "unimplemented" }, { endStream: true });
      return;
    }
    stream.respond(head, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(result.body.length, 1);
    stream.end(Buffer.concat([prefix, result.body]));
  });
}

function serveConnect(request: IncomingMessage, response: ServerResponse, answer: Answering): void {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const result = answer(request.url ?? "", Buffer.concat(pieces));
    if ("unimplemented" in result) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"code":"unimplemented"}');
      return;
    }
    response.writeHead(200, { "content-type": "application/proto" }).end(result.body);
  });
}
