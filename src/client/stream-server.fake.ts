import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
  ErrorDetailsSchema,
  type StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamUnifiedChatResponseWithToolsSchema as ServerChunkSchema,
  type StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
  StreamUnifiedChatResponseWithToolsIdempotentSchema as ServerMessageSchema,
  StreamEnd_Outcome,
} from "../proto/aiserver/v1/chat_pb.ts";
import { nextChain } from "./chain.ts";
import { startMark } from "./records/record.ts";

type ChunkBody = Omit<MessageInitShape<typeof ServerChunkSchema>, "eventId" | "$typeName">;

/** The model's answer in stages; each stage follows the results of the calls in the one before. */
export type Script = readonly (readonly ChunkBody[])[];

export const says = (text: string): ChunkBody => ({
  response: { case: "streamUnifiedChatResponse", value: { text } },
});
export const thinks = (text: string): ChunkBody => ({
  response: { case: "streamUnifiedChatResponse", value: { thinking: { text } } },
});
export const rewrites = (rewrittenText: string): ChunkBody => ({
  response: { case: "streamUnifiedChatResponse", value: { rewrittenText } },
});
export const calls = (toolCallId: string, rawArgs = "{}"): ChunkBody => ({
  response: { case: "clientSideToolV2Call", value: { tool: 19, toolCallId, name: "look", rawArgs } },
});

/** A stream as the server keeps it. Everything in it counts as durable. */
export interface ServedStream {
  readonly accepted: ClientMessage[];
  chunks: ServerChunk[];
  /** `chains[n]`: over the first n events. */
  chains: string[];
  epoch: number;
  expiresAtMs: number;
  /** The newest, and the one that got it. */
  tickets: string[];
}

/** A model's server and a gateway in one, in memory: the server's side of docs/stream-protocol.md, small and honest. */
export class FakeStreamServer {
  readonly streams = new Map<string, ServedStream>();
  readonly #script: Script;
  /** By its clock, epoch ms. */
  nowMs = 1_800_000_000_000;
  retentionMs = 7_200_000;
  degraded = false;
  /** Set to let what comes next wait. */
  holdFrom = Infinity;
  #beats = 0;
  #line: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;
  /** Messages that came, accepted or not. */
  taken = 0;
  #change = new Promise<void>((resolve) => (this.#wake = resolve));

  constructor(script: Script) {
    this.#script = script;
  }

  /** Requests that reached the model. */
  get prompts(): number {
    return [...this.streams.values()].filter(({ accepted }) => accepted.length > 0).length;
  }

  get only(): ServedStream {
    const [stream] = this.streams.values();
    if (stream === undefined) throw new Error("no stream was made");
    return stream;
  }

  /** Lets everything that waits look again. */
  changed(): void {
    const wake = this.#wake;
    this.#change = new Promise((resolve) => (this.#wake = resolve));
    wake();
  }

  /** A sign of life on every attach. */
  heartbeat(): void {
    this.#beats++;
    this.changed();
  }

  /** Answers an attach: the welcome first, then what the log and the acknowledgements say, until the end. */
  async *attach(headers: Headers, signal: AbortSignal): AsyncGenerator<ServerMessage, void> {
    const stream = this.#find(headers);
    const observes = headers.get("x-millrace-intent") === "observe";
    const epoch = observes ? stream.epoch : ++stream.epoch;
    const cursor = headers.get("x-idempotency-event-id") ?? startMark.eventId;
    const position =
      cursor === startMark.eventId ? 0 : stream.chunks.findIndex(({ eventId }) => eventId === cursor) + 1;
    const head = stream.chains[position] ?? "";
    const told = headers.get("x-millrace-chain");
    if ((cursor !== "0" && position === 0) || (told !== null && told !== base64Encode(base64Decode(head), "url")))
      throw refusal("diverged", "expired", Code.DataLoss);
    if (!observes) stream.expiresAtMs = this.nowMs + this.retentionMs;
    const ticket = observes ? "" : this.#nextTicket(stream, headers.get("x-millrace-ticket"));
    yield create(ServerMessageSchema, {
      response: {
        case: "welcomeMessage",
        value: {
          isDegradedMode: this.degraded,
          facts: {
            epoch,
            tailEventId: stream.chunks.at(-1)?.eventId ?? "0",
            ...(stream.accepted.length === 0 ? {} : { highestSeqno: stream.accepted.length - 1 }),
            expiresAtUnixMs: BigInt(stream.expiresAtMs),
            serverNowUnixMs: BigInt(this.nowMs),
            chainHead: base64Decode(head),
            nextTicket: base64Decode(ticket),
          },
        },
      },
    });
    let [sent, acknowledged, beats] = [position, 0, this.#beats];
    for (;;) {
      signal.throwIfAborted();
      if (!observes && stream.epoch !== epoch) throw refusal("superseded", "cancelled", Code.Aborted);
      while (acknowledged < stream.accepted.length)
        yield create(ServerMessageSchema, { response: { case: "seqnoAck", value: acknowledged++ } });
      if (beats < this.#beats) {
        beats = this.#beats;
        const last = stream.accepted.length - 1;
        yield create(ServerMessageSchema, { response: { case: "seqnoAck", value: Math.max(0, last) } });
      }
      const chunk = sent < this.holdFrom ? stream.chunks[sent] : undefined;
      if (chunk === undefined) {
        await Promise.race([this.#change, aborted(signal)]);
        continue;
      }
      sent++;
      yield create(ServerMessageSchema, { response: { case: "serverChunk", value: chunk } });
      if (chunk.streamEnd !== undefined) return;
    }
  }

  /** Takes a message of a client, one after another. Throws what it refuses. */
  take(headers: Headers, message: ClientMessage): Promise<void> {
    this.taken++;
    const taken = this.#line.then(() => this.#take(headers, message));
    this.#line = taken.catch(() => undefined);
    return taken;
  }

  async #take(headers: Headers, message: ClientMessage): Promise<void> {
    const stream = this.#find(headers);
    const { seqno } = message;
    if (headers.get("x-millrace-intent") === "observe")
      throw refusal("observer", "invalid_request", Code.PermissionDenied);
    if (seqno === undefined) throw new Error("our client numbers everything");
    const before = stream.accepted[seqno];
    if (before !== undefined) {
      if (base64Encode(bytesOf(before)) !== base64Encode(bytesOf(message)))
        throw refusal("seqno_conflict", "idempotency_conflict", Code.AlreadyExists);
      return;
    }
    if (seqno !== stream.accepted.length) throw refusal("seqno_gap", "invalid_request", Code.OutOfRange);
    stream.accepted.push(message);
    await this.#grow(stream);
    this.changed();
  }

  /** Appends what follows from what was accepted so far. */
  async #grow(stream: ServedStream): Promise<void> {
    const isEnded = () => stream.chunks.at(-1)?.streamEnd !== undefined;
    const kinds = stream.accepted.map(({ request }) => request.case);
    const results = new Set(
      stream.accepted.flatMap(({ request }) =>
        request.case === "clientChunk" && request.value.request.case === "clientSideToolV2Result"
          ? [request.value.request.value.toolCallId]
          : [],
      ),
    );
    for (const [index, stage] of this.#script.entries()) {
      const first = this.#script.slice(0, index).flat().length;
      if (stream.chunks.length <= first && !isEnded()) for (const body of stage) await append(stream, body);
      const open = stage.filter(
        ({ response }) => response?.case === "clientSideToolV2Call" && !results.has(response.value.toolCallId ?? ""),
      );
      if (open.length > 0) {
        if (kinds.includes("close") && !isEnded()) await end(stream, StreamEnd_Outcome.FINISHED, "tool_calls");
        break;
      }
      if (index === this.#script.length - 1 && !isEnded()) await end(stream, StreamEnd_Outcome.FINISHED, "stop");
    }
    if (kinds.includes("abort") && !isEnded()) await end(stream, StreamEnd_Outcome.CANCELLED, "client");
  }

  #find(headers: Headers): ServedStream {
    const name = `${headers.get("x-idempotency-key")}/${headers.get("x-idempotent-encryption-key")}`;
    const there = this.streams.get(name);
    if (there !== undefined && there.expiresAtMs > this.nowMs) return there;
    if (there !== undefined || headers.get("x-millrace-intent") !== "create")
      throw refusal("expired", "expired", Code.FailedPrecondition);
    const made: ServedStream = {
      accepted: [],
      chunks: [],
      chains: [""],
      epoch: 0,
      expiresAtMs: this.nowMs + this.retentionMs,
      tickets: [],
    };
    this.streams.set(name, made);
    return made;
  }

  #nextTicket(stream: ServedStream, brought: string | null): string {
    // No ticket counts as the one before the first.
    const given = brought === null ? "" : base64Encode(base64Decode(brought));
    if (stream.epoch > 1 && !stream.tickets.includes(given))
      throw refusal("ticket_spent", "cancelled", Code.PermissionDenied);
    const next = base64Encode(crypto.getRandomValues(new Uint8Array(32)));
    stream.tickets = given === stream.tickets.at(-1) ? [next, ...stream.tickets] : [next, given]; // the last one is the one before
    return next;
  }
}

/** The error of a refusal, as the wire has it. */
export function refusal(reason: string, code: string, connect: Code): ConnectError {
  return new ConnectError(reason, connect, undefined, [
    {
      desc: ErrorDetailsSchema,
      value: { details: { title: reason, detail: `Refused: ${reason}.`, additionalInfo: { reason, code, hint: "h" } } },
    },
  ]);
}

async function append(stream: ServedStream, body: ChunkBody): Promise<void> {
  const chunk = create(ServerChunkSchema, { ...body, eventId: idOf(stream.chunks.length + 1) });
  const chain = await nextChain(stream.chains.at(-1) ?? "", chunk);
  stream.chunks.push(chunk); // both at once: an attach may come in between
  stream.chains.push(chain);
}

function end(stream: ServedStream, outcome: StreamEnd_Outcome, reason: string): Promise<void> {
  const chainDigest = base64Decode(stream.chains.at(-1) ?? "");
  return append(stream, { streamEnd: { outcome, reason, eventCount: stream.chunks.length, chainDigest } });
}

/** a1 … a9, b10 …: as the gateway's ids. */
function idOf(seq: number): string {
  return String.fromCharCode(96 + String(seq).length) + seq;
}

function bytesOf(message: ClientMessage): Uint8Array {
  return toBinary(ClientMessageSchema, message);
}

async function aborted(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
