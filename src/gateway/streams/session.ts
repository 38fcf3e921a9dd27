import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { bestEffort, orAborted, within } from "../../base/async.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { Bell } from "../../base/notifier.ts";
import {
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  type StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
  StreamUnifiedChatResponseWithToolsIdempotentSchema as ServerMessageSchema,
} from "../../proto/aiserver/v1/chat_pb.ts";
import type { Attachment } from "../../turns/attach.ts";
import type { StreamTurns } from "../../turns/open-turns.ts";
import { readPayload } from "../dialects/idempotent/client-message.ts";
import type { StreamEncoder } from "../dialects/idempotent/encode.ts";
import { encodeFailedEnd, refusal } from "../dialects/idempotent/errors.ts";
import { clientOf } from "../http/request-headers.ts";
import type { RpcParts } from "../http/rpc-handler.ts";
import { isAnswering, lookAgainMs } from "../http/timing.ts";
import type { StreamOutcome } from "../metrics/metrics.ts";
import { parseAttach } from "./attach-headers.ts";
import { Inbox } from "./inbox.ts";
import { StreamProgress } from "./progress.ts";
import { encodeAny } from "./rpc/refuse-call.ts";
import { liveChunks, type OpenStream, readStored, type StreamMarks, streamEncoder, welcomeOf } from "./stream-log.ts";

/** The parts that every session shares. */
export interface StreamParts extends RpcParts {
  readonly streams: Pick<StreamTurns, "attach">;
  readonly places: StreamPlaces;
  readonly marks: StreamMarks;
}

/** Attaches that one caller may have open at once, of writers and observers: enough for hundreds of streams that all reconnect after a restart. */
export const defaultPlaces = { openStreams: 256 };

/** Counts the open attaches of each caller, in this process. */
export class StreamPlaces {
  readonly #most: number;
  readonly #taken = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** A place for one attach; the answered function gives it back. @throws MillraceError `rate_limited` with reason `too_many_streams`. */
  take(caller: string): () => void {
    const taken = this.#taken.get(caller) ?? 0;
    if (taken >= this.#most)
      throw refusal("rate_limited", "too_many_streams", `${this.#most} streams of this key are open.`, {
        hint: "Close one, then attach.",
        retryAfterMs: 60_000,
      });
    this.#taken.set(caller, taken + 1);
    return () => {
      const left = (this.#taken.get(caller) ?? 1) - 1;
      if (left > 0) this.#taken.set(caller, left);
      else this.#taken.delete(caller);
    };
  }
}

/** How long a fresh stream waits for its first message, where its client may believe that it was accepted before; ms. */
const firstMessageMs = 8_000;

/** How long a session whose stream has ended waits for its client's last messages; ms. */
const lastWordsMs = 100;

/** How often an observer looks for new messages of the writing client. No event announces them. A row of docs/dev/turn-machine.md; ms. */
const lookEveryMs = 1_000;

type MessageInit = NonNullable<MessageInitShape<typeof ServerMessageSchema>["response"]>;

/**
 * One attach over any carrier: welcome, every chunk after the cursor, acknowledgements, signs of life, the end. A session whose client
 * has left before it attaches takes nothing over. `stopping` aborts when the gateway stops, with the error that its
 * clients get.
 *
 * @throws ConnectError as docs/stream-protocol.md, "Refusals", describes; nothing once the client has left.
 */
export async function runSession(parts: StreamParts, carrier: Carrier, stopping: AbortSignal): Promise<void> {
  let state: StreamProgress | undefined;
  try {
    const ask = parseAttach(carrier.headers, carrier.caller);
    const leave = parts.places.take(carrier.caller);
    let attachment: Attachment | undefined;
    try {
      carrier.signal.throwIfAborted();
      attachment = await parts.streams.attach(ask.name, ask.intent, ask);
      state = new StreamProgress(attachment.accepted);
      const stored = await readStored(attachment, state, { ...ask, marks: parts.marks }, stopping);
      await new Session(parts, carrier, { ask, attachment, state, stored }, stopping).run();
    } finally {
      leave();
      attachment?.close();
    }
  } catch (error) {
    if (carrier.signal.aborted) return; // the client has disconnected and would not get the error
    // A message that a running turn or an older attach refuses has a turn that tells of it.
    const hasNoTurn = (state?.turns.length ?? 0) === 0 || (isMillraceError(error) && error.repeated);
    if (hasNoTurn && isMillraceError(error) && error.code !== "cancelled")
      parts.refused.note(clientOf(carrier.headers), error);
    throw encodeAny(parts, error, state !== undefined && state.accepted > 0);
  }
}

class Session {
  readonly #parts: StreamParts;
  readonly #carrier: Carrier;
  readonly #stream: OpenStream;
  readonly #encoder: StreamEncoder;
  readonly #stop = new AbortController();
  /** Aborts when the client has left, a newer attach has the stream, the gateway stops, or the session must end. */
  readonly #here: AbortSignal;
  #beatAt = 0;

  constructor(parts: StreamParts, carrier: Carrier, stream: OpenStream, stopping: AbortSignal) {
    this.#parts = parts;
    this.#carrier = carrier;
    this.#stream = stream;
    this.#encoder = stream.stored.held?.encoder ?? streamEncoder(stream.state, stream.stored.before);
    this.#here = AbortSignal.any([carrier.signal, stopping, stream.attachment.superseded, this.#stop.signal]);
  }

  async run(): Promise<void> {
    const { metrics } = this.#parts;
    const { ask, attachment, state, stored } = this.#stream;
    metrics.streamOpened();
    let outcome: StreamOutcome = "left";
    const inbox = new Inbox(this.#stream, {
      ...this.#parts,
      acknowledge: (seqno) => void this.#write({ case: "seqnoAck", value: seqno }),
      fail: (error) => this.#fail(error),
    });
    try {
      void this.#write({ case: "welcomeMessage", value: welcomeOf(this.#stream) });
      const input = inbox.read(this.#carrier.messages, this.#carrier.waitsForGaps, this.#here);
      this.#inBackground(this.#beat());
      if (ask.intent === "observe") this.#inBackground(this.#followWriter());
      if (ask.intent === "create" && !ask.saidIntent) this.#inBackground(this.#expectRequest(inbox));
      await this.#sendChunks();
      const lastWords = stored.ended ? input : inbox.worked(); // to a stream that had ended before, a late message may still come
      await orAborted(within(lastWords, lastWordsMs, this.#parts.clock), this.#here);
      outcome = this.#encoder.ended?.type ?? "left";
      if (this.#encoder.failure !== undefined) throw encodeFailedEnd(this.#encoder.failure);
    } catch (error) {
      if (outcome === "left" && !this.#carrier.signal.aborted) outcome = "failed";
      throw this.#here.aborted ? this.#here.reason : error;
    } finally {
      this.#fail(new Error("the session is over")); // the gateway's own signal lives on, and would keep the stream's key
      await inbox.worked();
      metrics.streamEnded(outcome);
      this.#parts.log.write("info", "stream attach", {
        turnId: state.turns.at(-1),
        epoch: attachment.epoch,
        accepted: state.accepted,
        ...(state.unread.length === 0 ? {} : { unread: state.unread.join(", ") }),
        outcome,
      });
    }
  }

  /** Ends the session. The first reason counts. */
  #fail(error: unknown): void {
    this.#stop.abort(error);
  }

  /** A failure of the work ends the session; the end of the session ends the work. */
  #inBackground(work: Promise<void>): void {
    void bestEffort(work, (error) => this.#fail(error));
  }

  #write(response: MessageInit): Promise<void> {
    const { clock, waits } = this.#parts;
    this.#beatAt = clock.monotonic() + waits.heartbeatMs;
    return this.#carrier.write(create(ServerMessageSchema, { response }));
  }

  /** Sends every chunk at the client's pace, to the end of the stream. */
  async #sendChunks(): Promise<void> {
    const { ask, attachment, state, stored } = this.#stream;
    const onlooker: Pick<Attachment, "read"> = { read: (...asked) => attachment.follow(...asked) }; // keeps no turn alive
    const reading = ask.intent === "observe" ? onlooker : attachment;
    const { marks } = this.#parts;
    const place = { cursor: ask.cursor, encoder: this.#encoder, held: stored.held, marks };
    const chunks = liveChunks(reading, state, place, this.#here);
    for await (const chunk of chunks) await orAborted(this.#write({ case: "serverChunk", value: chunk }), this.#here);
    this.#here.throwIfAborted();
  }

  /** Repeats the highest acknowledgement while nothing else is sent. */
  async #beat(): Promise<void> {
    const { clock, metrics } = this.#parts;
    const { state } = this.#stream;
    for (;;) {
      const leftMs = this.#beatAt - clock.monotonic();
      if (leftMs > 0) await clock.sleep(leftMs, this.#here);
      else if (state.accepted > 0 && this.#isAlive()) {
        metrics.heartbeat();
        await orAborted(this.#write({ case: "seqnoAck", value: state.accepted - 1 }), this.#here);
      } else this.#beatAt = clock.monotonic() + lookAgainMs;
    }
  }

  /** While a turn runs, only messages of its model's server count as signs of life; otherwise the stream waits for its client. */
  #isAlive(): boolean {
    const { turns, clock, waits } = this.#parts;
    const ids = this.#stream.state.turns;
    const turnId = ids.at(-1);
    const { segment, turnEnd } = this.#encoder;
    if (turnId === undefined || (segment === ids.length && turnEnd !== undefined)) return true;
    return isAnswering(turns.lastAliveAtMs(turnId), clock, waits);
  }

  /**
   * For a client that sends nothing on a stream that was just created. An earlier store acknowledged its request, so the client
   * waits for the answer; that store is lost.
   */
  async #expectRequest(inbox: Inbox): Promise<void> {
    await this.#parts.clock.sleep(firstMessageMs, this.#here);
    if (this.#stream.state.accepted > 0 || !inbox.idle) return;
    throw new MillraceError("expired", "The gateway does not know this stream, and its client sent no request.", {
      hint: "If the request was acknowledged before, the store that held it is gone. Send it again as a new stream.",
    });
  }

  /** Keeps an observer's state up with the stream. Throws `expired`. */
  async #followWriter(): Promise<void> {
    const { clock, streams } = this.#parts;
    const { ask, state } = this.#stream;
    for (;;) {
      await clock.sleep(lookEveryMs, this.#here);
      const { accepted } = await streams.attach(ask.name, "observe");
      for (const { payload, turnId } of accepted.slice(state.accepted)) state.accept(readPayload(payload), turnId);
    }
  }
}

/** The carrier of one session: the call of tier 1, or the calls of the other tiers. */
export interface Carrier {
  /** Digest of the caller's API key. */
  readonly caller: string;
  /** They name the stream. */
  readonly headers: Headers;
  /** Ends, or throws, once nothing more can come. */
  readonly messages: AsyncIterable<ClientMessage>;
  /** Whether messages may come in another order than they were sent. */
  readonly waitsForGaps: boolean;
  /** Sends after all earlier messages. Resolves when the client's side comes back for more; never after the client has left. */
  readonly write: (message: ServerMessage) => Promise<void>;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
}

/**
 * Runs a session over a call that pulls its messages: yields each as the client's side asks for it. Throws the session's error after
 * all messages. The session has ended when the iteration has.
 */
export async function* carry(
  up: Omit<Carrier, "write">,
  run: (carrier: Carrier) => Promise<void>,
): AsyncGenerator<ServerMessage, void> {
  const waiting: { readonly message: ServerMessage; readonly taken: () => void }[] = [];
  const bell = new Bell();
  const left = new AbortController();
  let end: { readonly error?: unknown } | undefined;
  const write = (message: ServerMessage) =>
    new Promise<void>((taken) => {
      waiting.push({ message, taken });
      bell.ring();
    });
  const over = run({ ...up, write, signal: AbortSignal.any([up.signal, left.signal]) })
    .then(
      () => void (end = {}),
      (error: unknown) => void (end = { error }),
    )
    .finally(() => bell.ring());
  try {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) {
        yield next.message;
        next.taken();
      } else if (end === undefined) await bell.wait();
      else if ("error" in end) throw end.error;
      else return;
    }
  } finally {
    left.abort(new Error("the client has left"));
    await over;
  }
}
