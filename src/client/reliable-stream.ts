import type { Transport } from "@connectrpc/connect";
import { type Clock, systemClock } from "../base/clock.ts";
import { MillraceError } from "../base/errors.ts";
import type {
  StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
} from "../proto/aiserver/v1/chat_pb.ts";
import { type BackoffPolicy, defaultBackoff, waitBefore } from "./backoff.ts";
import { nextChain } from "./chain.ts";
import { begin, decide, type Effect, type Input, type StreamState } from "./decide.ts";
import {
  encodeAbort,
  encodeClose,
  encodeRequest,
  encodeToolResult,
  kindOf,
  type StreamEvent,
  type StreamRequest,
  toStreamEvent,
  toWire,
} from "./messages.ts";
import { Queue } from "./queue.ts";
import { newRecord, type StreamRecord, toBase64, toBase64Url } from "./record.ts";
import { openMemoryRecordStore, type RecordStore } from "./record-store.ts";
import { refusalOf } from "./stream-error.ts";
import type { OpenTier, Tier } from "./tier.ts";

/** How a stream reaches its gateway and how it behaves. */
export interface StreamOptions {
  /** Connect transports to the gateway's origin, with its key in the `authorization` header. */
  readonly transport: Transport;
  /** Ways to carry it, best first; the next one is tried when one never got a welcome. */
  readonly tiers: readonly OpenTier[];
  /** Where records are kept; in memory by default, which survives connections but no restart. */
  readonly store?: RecordStore;
  readonly backoff?: BackoffPolicy;
  /** Silence after which a connection is taken for dead, ms; the gateway says something at least every 15 s. */
  readonly stallMs?: number;
  /** The application's own note in the record, for `autoResume`. */
  readonly label?: string;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Told when the connection is lost and when it is there again. */
  readonly onConnection?: (state: "attached" | "reconnecting", tier: Tier["name"]) => void;
}

/** A stream that survives its connections. */
export interface ReliableStream {
  readonly streamKey: string;
  /**
   * Everything that happens, each event once, in order, to the end. Iterate once; leaving the loop detaches without
   * cancelling. Throws `MillraceError`: the gateway's refusal, `expired`, `upstream_failed` when the budget of attaches is spent.
   */
  readonly events: AsyncIterable<StreamEvent>;
  /** Gives a tool's result. Resolved means stored: it arrives even if this process dies now (with a store that survives). */
  sendToolResult(callId: string, result: { readonly text: string; readonly isError: boolean }): Promise<void>;
  /** Ends the answer upstream. Resolved means stored; the stream then ends with `cancelled`. */
  cancel(): Promise<void>;
  /** Says that no more tool results come. */
  close(): Promise<void>;
}

/** Starts a stream. Nothing is sent before its record is stored. */
export async function startReliableStream(
  request: StreamRequest,
  options: StreamOptions,
  signal: AbortSignal,
): Promise<ReliableStream> {
  const clock = options.clock ?? systemClock;
  const ids = {
    streamKey: crypto.randomUUID(),
    encryptionKey: toBase64Url(crypto.getRandomValues(new Uint8Array(32))),
  };
  const store = options.store ?? openMemoryRecordStore();
  await store.lease(ids.streamKey);
  const stream = new Stream(
    begin(newRecord(ids, clock.now(), options.label ?? "")),
    { ...options, store, clock },
    signal,
  );
  await stream.give({ type: "given", kind: "request", payload: encodeRequest(request) });
  return stream;
}

/** Goes on with a stream from its record. The caller has its lease (`autoResume` takes it). */
export function resume(
  record: StreamRecord,
  options: StreamOptions & { readonly store: RecordStore },
  signal: AbortSignal,
): ReliableStream {
  return new Stream(begin(record), { ...options, clock: options.clock ?? systemClock }, signal);
}

const defaultStallMs = 45_000;

class Stream implements ReliableStream {
  readonly #options: StreamOptions & { readonly store: RecordStore; readonly clock: Clock };
  readonly #signal: AbortSignal;
  readonly #tiers: readonly Tier[];
  #state: StreamState;
  #tier = 0;
  #outgoing = new Queue<ClientMessage>();
  /** Steps follow one another: what one stores is durable before the next begins. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(
    state: StreamState,
    options: StreamOptions & { readonly store: RecordStore; readonly clock: Clock },
    signal: AbortSignal,
  ) {
    this.#state = state;
    this.#options = options;
    this.#signal = signal;
    this.#tiers = options.tiers.map((open) => open(options.transport));
  }

  get streamKey(): string {
    return this.#state.record.streamKey;
  }

  get events(): AsyncIterable<StreamEvent> {
    return this.#run();
  }

  async give(input: Extract<Input, { type: "given" }>): Promise<void> {
    await this.#step(input);
  }

  sendToolResult(callId: string, result: { readonly text: string; readonly isError: boolean }): Promise<void> {
    return this.give({ type: "given", kind: "tool_result", payload: encodeToolResult(callId, result), callId });
  }

  cancel(): Promise<void> {
    return this.give({ type: "given", kind: "abort", payload: encodeAbort() });
  }

  close(): Promise<void> {
    return this.give({ type: "given", kind: "close", payload: encodeClose() });
  }

  async *#run(): AsyncGenerator<StreamEvent, void> {
    const { store, onConnection } = this.#options;
    try {
      for (;;) {
        this.#signal.throwIfAborted();
        await this.#step({ type: "attach" });
        const wasFruitless = this.#state.fruitless;
        try {
          yield* this.#attach();
        } catch (error) {
          if (this.#signal.aborted) throw error;
          const refusal = error instanceof MillraceError ? error : refusalOf(error);
          if (refusal !== undefined) {
            await this.#step({ type: "refused" });
            throw refusal;
          }
        }
        if (this.#state.phase === "ended") return;
        const wasWelcomed = this.#state.phase === "attached";
        await this.#step({ type: "lost" });
        if (!wasWelcomed && wasFruitless > 0) this.#tier = (this.#tier + 1) % this.#tiers.length;
        onConnection?.("reconnecting", this.#current.name);
        await this.#wait();
      }
    } finally {
      this.#outgoing.close();
      await store.release(this.streamKey);
    }
  }

  get #current(): Tier {
    const tier = this.#tiers[this.#tier];
    if (tier === undefined) throw new MillraceError("invalid_request", "A stream needs at least one tier.");
    return tier;
  }

  async *#attach(): AsyncGenerator<StreamEvent, void> {
    const { record } = this.#state;
    const outgoing = new Queue<ClientMessage>();
    this.#outgoing = outgoing;
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#signal, stop.signal]);
    const headers = {
      "x-idempotency-key": record.streamKey,
      "x-idempotency-event-id": record.cursor,
      "x-idempotent-encryption-key": record.encryptionKey,
      "x-millrace-intent": record.created ? "resume" : "create",
    };
    let chain = record.cursorChain;
    try {
      const incoming = this.#current.attach({ headers, requestId: crypto.randomUUID(), outgoing }, signal);
      for await (const message of untilSilent(
        incoming,
        this.#options.stallMs ?? defaultStallMs,
        this.#options.clock,
        stop,
      )) {
        if (message.response.case !== "serverChunk") {
          await this.#receive(message);
          continue;
        }
        const chunk = message.response.value;
        if (chunk.eventId === "") throw new MillraceError("internal", "The gateway sent an event without an id.");
        if (chunk.streamEnd !== undefined)
          this.#verifyEnd(chunk.streamEnd.eventCount, toBase64(chunk.streamEnd.chainDigest), chain);
        else chain = await nextChain(chain, chunk);
        if (chunk.eventId === this.#state.record.surfaced && chain !== this.#state.record.surfacedChain)
          throw changed();
        const { effects } = await this.#step({ type: "event", eventId: chunk.eventId, event: kindOf(chunk), chain });
        for (const effect of effects) {
          if (effect.type !== "surface") continue;
          const event = toStreamEvent(chunk, effect.again);
          if (event !== undefined) yield event;
        }
        if (this.#state.phase === "ended") return;
      }
    } finally {
      outgoing.close();
      stop.abort();
    }
  }

  async #receive(message: ServerMessage): Promise<void> {
    if (message.response.case === "seqnoAck") await this.#step({ type: "acknowledged", seqno: message.response.value });
    if (message.response.case !== "welcomeMessage") return;
    const { isDegradedMode, facts } = message.response.value;
    const isFirst = this.#state.phase === "attaching";
    const { effects } = await this.#step({
      type: "welcome",
      degraded: isDegradedMode,
      epoch: facts?.epoch ?? 0,
      highestSeqno: facts?.highestSeqno,
      chainHead: facts === undefined ? undefined : toBase64(facts.chainHead),
      expiresAtMs: facts === undefined ? undefined : Number(facts.expiresAtUnixMs),
      serverNowMs: facts === undefined ? undefined : Number(facts.serverNowUnixMs),
      nowMs: this.#options.clock.now(),
    });
    if (effects.some((effect) => effect.type === "end" && effect.how === "diverged")) throw changed();
    if (isFirst) this.#options.onConnection?.("attached", this.#current.name);
  }

  #verifyEnd(count: number, digest: string, chain: string): void {
    if (count !== this.#state.record.count || digest !== chain) throw changed();
  }

  /** Decides one input and performs what follows, after every earlier step is done. */
  #step(input: Input): Promise<{ readonly effects: readonly Effect[] }> {
    const step = this.#line.then(async () => {
      const { state, effects } = decide(this.#state, input);
      this.#state = state;
      for (const effect of effects) await this.#perform(effect);
      return { effects };
    });
    this.#line = step.catch(() => {}); // whoever asked for the step gets its failure; the next one starts anew
    return step;
  }

  async #perform(effect: Effect): Promise<void> {
    const { store } = this.#options;
    if (effect.type === "store") await store.save(this.#state.record);
    else if (effect.type === "forget") await store.remove(this.streamKey);
    else if (effect.type === "send") this.#outgoing.put(toWire(effect.message));
    else if (effect.type === "end" && effect.how === "lost_degraded") {
      throw new MillraceError(
        "degraded",
        "The connection was lost, and the gateway had said that this stream cannot be resumed.",
      );
    }
  }

  async #wait(): Promise<void> {
    const { clock, backoff = defaultBackoff, random = Math.random } = this.#options;
    const ms = waitBefore(Math.max(1, this.#state.fruitless), backoff, random);
    if (ms === undefined) {
      throw new MillraceError("upstream_failed", "The gateway cannot be reached.", {
        hint: "Start it with `millrace serve`; the stream goes on from where it was.",
      });
    }
    await clock.sleep(ms, this.#signal);
  }
}

function changed(): MillraceError {
  return new MillraceError("internal", "The gateway's log of this stream is not the one that was read before.", {
    hint: "One of the two was restored from an older copy. Start a new stream.",
  });
}

/** The same items; when none comes for `ms`, aborts and ends as a lost connection does. */
async function* untilSilent<T>(
  items: AsyncIterable<T>,
  ms: number,
  clock: Clock,
  stop: AbortController,
): AsyncGenerator<T, void> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const quiet = new AbortController();
      const silence = clock.sleep(ms, quiet.signal).then(
        () => "silent" as const,
        () => "moved" as const,
      );
      const next = iterator.next();
      const first = await Promise.race([next.then(() => "moved" as const), silence]);
      quiet.abort();
      if (first === "silent") {
        stop.abort();
        await next.catch(() => {}); // it ends now, one way or the other
        return;
      }
      const { done, value } = await next;
      if (done === true) return;
      yield value;
    }
  } finally {
    await iterator.return?.();
  }
}
