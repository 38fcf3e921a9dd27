import { MillraceError } from "../../base/errors.ts";
import type { StreamUnifiedChatResponseWithTools as ServerChunk } from "../../proto/aiserver/v1/chat_pb.ts";
import { nextChain } from "../chain.ts";
import { fromBase64, toBase64Url } from "../encoding.ts";
import { attachedOver, Connections, type OpenConnection } from "../link/connections.ts";
import { isAfter, type Mark, startMark } from "../records/record.ts";
import { noRecord } from "../records/record-store.ts";
import { welcomeOf } from "../tiers/attach.ts";
import type { Attach } from "../tiers/tier.ts";
import type { StreamPass } from "./reliable-stream.ts";
import { lostForGood, type RefusalReport } from "./stream-error.ts";
import { eventKind, type StreamEvent, type ToolCallEvent, toStreamEvent } from "./stream-event.ts";
import { neverAborted, type StreamOptions, type StreamSettings, settingsOf } from "./stream-options.ts";
import type { Welcome } from "./stream-state.ts";

/** As the owner's options, without those for sending and keeping. */
export interface ObserveOptions
  extends Pick<StreamOptions, "gateway" | "store" | "backoff" | "patience" | "onConnection" | "clock" | "random"> {
  /** The last event that the application has: it is handed those after it. By default, and with "0", all of them. */
  readonly after?: string;
  /** Off: it ends after the events that the gateway has at the first question. */
  readonly follow?: boolean;
}

/** A call that the owner of the stream runs, as an onlooker sees it. */
export type ObservedCall = Omit<ToolCallEvent, "state">;

/** An event of a stream for an observer. */
export type ObservedEvent = Exclude<StreamEvent, ToolCallEvent> | ObservedCall;

/**
 * Observes a stream: every event after `after`, first stored and then live ones, each once and in order, to the end of the stream,
 * over any number of connections. It takes nothing over from the owner, sends nothing, and keeps no answer alive. `stream` is a
 * pass, or a key whose record is in `options.store`, of any owner. The signal, or leaving the loop, ends it.
 *
 * The iteration throws `MillraceError`: `invalid_request` for a key without a record; `expired` for a stream that has not started,
 * has expired, or has another key; `degraded` and `upstream_failed` as the owner's stream does; `internal` with reason `diverged`
 * when the events differ from those read before. The `end` event is proved by its count and digest.
 * Source: docs/stream-protocol.md, "Headers of an attach".
 */
export async function* observe(
  stream: string | StreamPass,
  options: ObserveOptions,
  signal: AbortSignal = neverAborted,
): AsyncGenerator<ObservedEvent, void> {
  const settings = settingsOf(options);
  signal.throwIfAborted();
  const pass = typeof stream === "string" ? await passOf(stream, settings) : stream;
  const { after = startMark.eventId, follow = true } = options;
  yield* new Onlooker(pass, after, follow, settings).events(signal);
}

async function passOf(streamKey: string, { store }: StreamSettings): Promise<StreamPass> {
  const record = await store.peek(streamKey);
  if (record === undefined) throw noRecord(streamKey);
  return record;
}

class Onlooker implements OpenConnection {
  readonly #pass: StreamPass;
  readonly #settings: StreamSettings;
  /** The events that the application read before. */
  readonly #floor: string;
  #seen: ObserverMark = nothingObserved;
  readonly #follows: boolean;
  /** The last event that is wanted; undefined for the end of the stream. */
  #until: string | undefined;
  #isDegraded = false;
  #isOver = false;
  /** Attaches in a row that brought nothing. */
  #fruitless = 0;

  constructor({ streamKey, encryptionKey }: StreamPass, after: string, follows: boolean, settings: StreamSettings) {
    this.#follows = follows;
    this.#pass = { streamKey, encryptionKey };
    this.#floor = after;
    this.#settings = settings;
  }

  async *events(signal: AbortSignal): AsyncGenerator<ObservedEvent, void> {
    const { gateway, onConnection } = this.#settings;
    for await (const { message, tier } of new Connections(this, this.#settings, signal).deliveries()) {
      const { response } = message;
      if (response.case === "welcomeMessage") {
        const welcome = welcomeOf(response.value);
        this.#seen = observeWelcome(this.#seen, welcome, this.#floor);
        this.#isDegraded = welcome.degraded;
        if (!this.#follows) this.#until ??= welcome.tailEventId;
        onConnection(attachedOver(tier, response.value));
      }
      if (response.case === "serverChunk") {
        await this.#receive(response.value);
        gateway.tiers.useful(tier);
        const event = toStreamEvent(response.value, "new");
        if (event !== undefined && this.#isNew(event)) yield onlooked(event);
      }
      if (!this.#isOver && this.#until !== undefined && !isAfter(this.#until, this.#seen.eventId)) return;
    }
  }

  attach(): Promise<Attach> {
    const { streamKey, encryptionKey } = this.#pass;
    const { eventId, chain } = this.#seen;
    const headers = {
      "x-idempotency-key": streamKey,
      "x-idempotency-event-id": eventId,
      "x-idempotent-encryption-key": encryptionKey,
      "x-millrace-intent": "observe",
      ...(chain === "" ? {} : { "x-millrace-chain": toBase64Url(fromBase64(chain)) }),
    };
    return Promise.resolve({ headers, requestId: crypto.randomUUID(), outgoing: nothing });
  }

  isOver(): boolean {
    return this.#isOver;
  }

  lost(): Promise<number> {
    return this.#isDegraded ? Promise.reject(lostForGood()) : Promise.resolve(++this.#fruitless);
  }

  refused({ error }: RefusalReport): Promise<void> {
    return Promise.reject(error.code === "expired" ? nothingToSee(error) : error);
  }

  #isNew({ eventId }: StreamEvent): boolean {
    return eventId === "" || isAfter(eventId, this.#floor);
  }

  async #receive(chunk: ServerChunk): Promise<void> {
    // A degraded stream may have events without ids: none of it can be proved, nor read again.
    if (chunk.eventId !== "" || !this.#isDegraded) this.#seen = await observeEvent(this.#seen, chunk);
    this.#isOver = chunk.streamEnd !== undefined;
    this.#fruitless = 0;
  }
}

/** How far an observer has read: always from the first event, so that the whole log is proved. */
interface ObserverMark extends Mark {
  /** The gateway's count of the owner's attaches, which never goes back. */
  readonly epoch: number;
}

const nothingObserved: ObserverMark = { ...startMark, epoch: 0 };

/** Checks a welcome of the same stream. `floor`: the part that the application has read before. Throws `internal` with reason `diverged`. */
function observeWelcome(before: ObserverMark, welcome: Welcome, floor: string): ObserverMark {
  const { epoch = before.epoch, tailEventId, chainHead = before.chain } = welcome;
  const read = isAfter(floor, before.eventId) ? floor : before.eventId;
  if (tailEventId !== undefined && isAfter(read, tailEventId))
    throw diverged("the gateway's log ends before what was read from it");
  if (epoch < before.epoch) throw diverged("the gateway counts fewer connections than there were");
  if (chainHead !== before.chain) throw diverged("the gateway's log is not the one that was read before");
  return { ...before, epoch };
}

/** The next event of the log; an end is proved by its count and its digest. Throws `internal` with reason `diverged`. */
async function observeEvent(before: ObserverMark, chunk: ServerChunk): Promise<ObserverMark> {
  const { eventId, chain, count } = before;
  if (!isAfter(chunk.eventId, eventId)) throw diverged("the gateway sent an event twice or out of order");
  const event = eventKind(chunk);
  if (event.kind === "end" && (event.chainBefore !== chain || event.countBefore !== count))
    throw diverged("the end of the stream does not belong to the events that were received");
  return { ...before, eventId: chunk.eventId, chain: await nextChain(chain, chunk), count: count + 1 };
}

/** An onlooker has nothing to send. */
async function* nothing(): AsyncGenerator<never, void> {}

function onlooked(event: StreamEvent): ObservedEvent {
  if (event.type !== "tool_call") return event;
  const { type, callId, name, arguments: text, eventId } = event;
  return { type, callId, name, arguments: text, eventId };
}

function nothingToSee(cause: MillraceError): MillraceError {
  return new MillraceError(
    "expired",
    "The gateway does not have this stream: it has not started, has expired, or has another key.",
    {
      hint: "Ask for the pass again, or wait until its owner has started it; streams are kept for two hours.",
      details: cause.details,
      cause,
    },
  );
}

/** The present stream is not the one that was read before; `why` names the evidence. */
function diverged(why: string): MillraceError {
  return new MillraceError("internal", `This stream cannot be trusted: ${why}.`, {
    hint: "Read it again from its start.",
    details: { reason: "diverged" },
  });
}
