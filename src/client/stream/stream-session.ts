import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { bestEffort, notNeeded } from "../../base/async.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { Bell } from "../../base/notifier.ts";
import type {
  StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { nextChain } from "../chain.ts";
import { isAfter, type OutgoingMessage, type StreamRecord } from "../records/record.ts";
import { damagedRecord, type OwnedRecord } from "../records/record-store.ts";
import type { Attach, Tier } from "../tiers/tier.ts";
import { decide } from "./decide.ts";
import { toWire } from "./messages.ts";
import { lostForGood, type RefusalReport } from "./stream-error.ts";
import { eventKind, type StreamEvent, toStreamEvent } from "./stream-event.ts";
import type { ConnectionChange, StreamSettings } from "./stream-options.ts";
import { type Effect, type Input, type StreamState, welcomeOf } from "./stream-state.ts";

/** How far a record may lag behind the applied events, ms: events of that time may be repeated after a crash. */
const noteEveryMs = 500;

/**
 * A stream over all its connections, of its owner or of an observer: the only place that moves its state. It decides one input after
 * another, performs the effects, and keeps the record.
 */
export class StreamSession {
  readonly #owned: OwnedRecord;
  readonly #settings: StreamSettings;
  #state: StreamState;
  /** Steps follow one another: a step's stored data is durable before the next begins. */
  #line: Promise<unknown> = Promise.resolve();
  /** Aborts when the present connection gets no more messages. */
  #connection = new AbortController();
  /** Unacknowledged messages below this number may be sent over the present connection: they are stored. */
  #sendsBelow = 0;
  readonly #sends = new Bell();
  /** The last event that is wanted; undefined for the end of the stream. */
  #until: string | undefined;
  /** Whether the state has progress that the record in the store lacks. */
  #isUnsaved = false;
  #savedAtMs: number;
  /** Why the record could not be written the last time; undefined while it can. The stream is read on without it. */
  #unsavedWhy: string | undefined;
  #attached: Extract<ConnectionChange, { state: "attached" }> | undefined;

  constructor(state: StreamState, owned: OwnedRecord, settings: StreamSettings) {
    this.#state = state;
    this.#owned = owned;
    this.#settings = settings;
    this.#savedAtMs = settings.clock.monotonic();
  }

  get state(): StreamState {
    return this.#state;
  }

  /** Whether nothing more is to come: a connection that ends then is not lost. */
  get isOver(): boolean {
    return this.#state.phase === "ended";
  }

  /** Decides one input and performs its effects, after every earlier step is done. Rejects with the error of an effect. */
  take(input: Input): Promise<readonly Effect[]> {
    const step = this.#line.then(async () => {
      const before = this.#state;
      const { state, effects } = decide(before, input);
      this.#state = state;
      for (const effect of effects) {
        try {
          await this.#perform(effect, input);
        } catch (error) {
          if (effect.type === "store") this.#state = before; // what could not be stored is not sent either
          throw error;
        }
      }
      return effects;
    });
    this.#line = step.catch(() => undefined); // the caller of the step gets its failure; the next one starts anew
    return step;
  }

  /** Whether it has read as far as was wanted, where that is not the end of the stream. */
  get isCaughtUp(): boolean {
    return !this.isOver && this.#until !== undefined && !isAfter(this.#until, this.#state.received.eventId);
  }

  /** Sends nothing more, saves the progress, and releases the record. */
  async close(): Promise<void> {
    this.#connection.abort(notNeeded);
    await this.#line;
    try {
      if (this.#isUnsaved) await this.#keep(() => this.#save());
    } finally {
      await this.#owned.release();
    }
  }

  /** The next attach. Source: docs/stream-protocol.md, "Headers of an attach". */
  async attach(): Promise<Attach> {
    await this.take({ type: "attach" });
    this.#connection.abort(notNeeded);
    this.#connection = new AbortController();
    this.#sendsBelow = 0;
    const { signal } = this.#connection;
    const { record, received, observes } = this.#state;
    const { grace } = this.#settings;
    const intent = record.created ? "resume" : "create";
    return {
      headers: {
        "x-idempotency-key": record.streamKey,
        "x-idempotency-event-id": received.eventId,
        "x-idempotent-encryption-key": record.encryptionKey,
        "x-millrace-intent": observes ? "observe" : intent,
        ...(received.chain === "" ? {} : { "x-millrace-chain": base64Encode(base64Decode(received.chain), "url") }),
        ...(record.ticket === undefined
          ? {}
          : { "x-millrace-ticket": base64Encode(base64Decode(record.ticket), "url") }),
        ...(grace === undefined ? {} : { "x-millrace-grace": grace }),
      },
      requestId: crypto.randomUUID(),
      outgoing: (until) => this.#outgoing(AbortSignal.any([signal, until])),
    };
  }

  /** The connection is gone. Answers how many attaches in a row brought nothing, with this one; throws where no other may follow. */
  async lost(): Promise<number> {
    this.#connection.abort(notNeeded);
    await this.take({ type: "lost" });
    return this.#state.fruitless;
  }

  /** The gateway's own word against the attach, which no other attach mends. */
  async refused(failure: RefusalReport): Promise<never> {
    await this.take({ type: "refused", record: recordAfter(failure, this.#state.record) });
    throw failure.error;
  }

  /** What the server has not acknowledged, then each new message, until the signal aborts. */
  async *#outgoing(signal: AbortSignal): AsyncGenerator<ClientMessage, void> {
    let sent = -1;
    while (!signal.aborted) {
      const isDue = ({ seqno }: OutgoingMessage) => seqno > sent && seqno < this.#sendsBelow;
      const message = this.#state.record.unacked.find(isDue);
      if (message === undefined) await bestEffort(this.#sends.wait(signal));
      else {
        sent = message.seqno;
        yield toWire(message);
      }
    }
  }

  /** The application's events for a message of the gateway. */
  async *receive({ response }: ServerMessage, tier: Tier): AsyncGenerator<StreamEvent, void> {
    if (response.case === "seqnoAck") await this.take({ type: "acknowledged", seqno: response.value });
    if (response.case === "welcomeMessage") {
      const { isDegradedMode, facts } = response.value;
      await this.take({ type: "welcome", ...welcomeOf(response.value) });
      if (!this.#settings.follows) this.#until ??= facts?.tailEventId;
      this.#attached = {
        state: "attached",
        tier: tier.name,
        degraded: isDegradedMode,
        expiresAtMs: facts === undefined ? undefined : Number(facts.expiresAtUnixMs),
        turnId: facts?.turnId || undefined,
        why: undefined,
      };
      this.#tell();
    }
    if (response.case !== "serverChunk") return;
    for (const effect of await this.#takeChunk(response.value)) {
      if (effect.type !== "surface") continue;
      this.#settings.gateway.useful(tier);
      const event = toStreamEvent(response.value, effect.call ?? "new");
      if (event !== undefined) yield event;
      await this.take({ type: "applied" });
    }
  }

  async #takeChunk(chunk: ServerChunk): Promise<readonly Effect[]> {
    if (chunk.eventId === "") return this.take({ type: "unnumbered" });
    const chain = await nextChain(this.#state.received.chain, chunk);
    return this.take({ type: "event", eventId: chunk.eventId, chain, event: eventKind(chunk) });
  }

  async #perform(effect: Effect, input: Input): Promise<void> {
    switch (effect.type) {
      case "store": // what the application gives is stored, or it is not sent
        return input.type === "welcome" ? this.#keep(() => this.#save()) : this.#save();
      case "note":
        this.#isUnsaved = true;
        if (this.#settings.clock.monotonic() - this.#savedAtMs >= noteEveryMs) await this.#keep(() => this.#save());
        return;
      case "forget":
        this.#isUnsaved = false;
        return this.#keep(() => this.#owned.remove());
      case "set_aside":
        await this.#setAside();
        return;
      case "send":
        this.#sendsBelow = effect.message.seqno + 1;
        return this.#sends.ring();
      case "surface":
        return; // its receiver did it
      case "diverged":
        throw this.#state.observes ? diverged(effect.why) : damagedRecord(effect.why, await this.#setAside());
      case "lost_for_good":
        throw lostForGood();
      default:
        effect satisfies never;
    }
  }

  /** Changes the record where that is not needed for what comes next: a place that is lost stops no reading, and the application is told. */
  async #keep(change: () => Promise<void>): Promise<void> {
    let why: string | undefined;
    try {
      await change();
    } catch (error) {
      if (!isMillraceError(error) || error.code !== "degraded") throw error;
      why = `${error.message} ${error.hint}`;
    }
    if (why === this.#unsavedWhy) return;
    this.#unsavedWhy = why;
    this.#tell();
  }

  #tell(): void {
    const why = this.#unsavedWhy;
    if (this.#attached === undefined) return;
    this.#settings.onConnection(why === undefined ? this.#attached : { ...this.#attached, degraded: true, why });
  }

  #save(): Promise<void> {
    this.#isUnsaved = false;
    this.#savedAtMs = this.#settings.clock.monotonic();
    return this.#owned.save(this.#state.record);
  }

  #setAside(): Promise<string> {
    this.#isUnsaved = false;
    return this.#owned.setAside();
  }
}

/** The fate of a stream's record after a final refusal. */
function recordAfter({ error, reason }: RefusalReport, { unacked }: StreamRecord): "forget" | "set_aside" | "keep" {
  if (reason === "diverged" || reason === "ticket_spent" || reason === "seqno_conflict") return "set_aside";
  if (error.code === "expired") return "forget";
  if (reason === "superseded" || reason === "foreign" || error.code === "unauthenticated") return "keep";
  // A request that was never accepted leaves nothing to come back to.
  return unacked.some(({ kind }) => kind === "request") ? "forget" : "keep";
}

/** The present stream is not the one that an observer read before; `why` names the evidence. */
function diverged(why: string): MillraceError {
  return new MillraceError("internal", `This stream cannot be trusted: ${why}.`, {
    hint: "Read it again from its start.",
    details: { reason: "diverged" },
  });
}
