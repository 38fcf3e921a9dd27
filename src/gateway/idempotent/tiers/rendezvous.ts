import { Code, ConnectError } from "@connectrpc/connect";
import { bestEffort } from "../../../base/async.ts";
import { Bell } from "../../../base/bell.ts";
import type { Clock } from "../../../base/clock.ts";
import type { StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage } from "../../../proto/aiserver/v1/chat_pb.ts";
import { encodeInterruption } from "../../dialects/idempotent/errors.ts";

/** The content of one append. */
export interface Append {
  readonly headers: Headers;
  /** Its place among the appends of its attach. */
  readonly seqno: bigint;
  readonly message: ClientMessage;
  readonly bytes: number;
}

/** How long and how much waits until the two ways of an attach meet. Source: docs/wire/idempotent-streams.md, "Tiers". */
export interface RendezvousLimits {
  /** How long a way down without headers waits for its first append, ms. */
  readonly parkMs: number;
  /** How long appends wait for their way down, ms; and how long the end of an attach is remembered. */
  readonly keepMs: number;
  /** How long appends still count after the attach's client left; ms. They arrive over another connection. */
  readonly lateMs: number;
  /** Appends of one attach that wait. */
  readonly mostAppends: number;
  /** Attaches whose way down has not come. */
  readonly mostUnclaimed: number;
  /** Bytes that wait, of all attaches. */
  readonly mostBytes: number;
}

export const defaultRendezvous: RendezvousLimits = {
  parkMs: 30_000,
  keepMs: 300_000,
  lateMs: 250,
  mostAppends: 64,
  mostUnclaimed: 256,
  mostBytes: 128 * 1024 * 1024,
};

/** Attaches whose end is remembered at most; the oldest are forgotten first. */
const mostRemembered = 1024;

/** The client's messages of an attach that sends and receives in separate calls: the appended messages, in order. */
export interface WayUp {
  /** The headers of the first append. Throws `unavailable` when none comes in time, or until a moment after the client left. */
  firstHeaders(): Promise<Headers>;
  /** Every message, as it comes, until a moment after the client left, or until the attach is over. */
  messages(): AsyncGenerator<ClientMessage, void>;
  /** The attach is over: later appends are refused. */
  end(): void;
}

/** Joins the calls of tiers 2 and 3 that belong to one attach, by caller and request id. The calls may come in any order. */
export class Rendezvous {
  readonly #clock: Clock;
  readonly #limits: RendezvousLimits;
  readonly #stopping: AbortSignal;
  readonly #meetings = new Map<string, Meeting>();
  readonly #over = new Map<string, number>();

  constructor(clock: Clock, stopping: AbortSignal, limits: RendezvousLimits = defaultRendezvous) {
    this.#clock = clock;
    this.#stopping = stopping;
    this.#limits = limits;
  }

  /** Attaches whose way down has not come. */
  get unclaimed(): number {
    return [...this.#meetings.values()].filter(({ claimed }) => !claimed.aborted).length;
  }

  /** @throws ConnectError `unavailable` when the attach is over, `resource_exhausted` when too much waits. */
  append(caller: string, requestId: string, append: Append): void {
    const key = attachKeyOf(caller, requestId);
    if (this.#isOver(key)) throw over();
    const held = this.#meetings.get(key);
    const { mostBytes, mostUnclaimed, mostAppends } = this.#limits;
    let waiting = append.bytes;
    for (const { bytes } of this.#meetings.values()) waiting += bytes;
    const crowded = held === undefined ? this.unclaimed >= mostUnclaimed : held.size >= mostAppends;
    if (crowded || waiting > mostBytes) throw full();
    const meeting = held ?? this.#meet(key);
    meeting.add(append);
  }

  /**
   * The way up of an attach whose way down has arrived, until the signal tells that its client left. Throws `already_exists` when the
   * attach has a way up.
   */
  claim(caller: string, requestId: string, signal: AbortSignal): WayUp {
    const key = attachKeyOf(caller, requestId);
    const held = this.#meetings.get(key);
    const meeting = held === undefined || held.isLeft ? this.#meet(key) : held;
    if (meeting.claimed.aborted)
      throw new ConnectError("This attach is open already; take a fresh request id.", Code.AlreadyExists);
    meeting.claim();
    const over = new AbortController();
    const leave = () => {
      meeting.leave();
      const late = this.#clock.sleep(this.#limits.lateMs, AbortSignal.any([over.signal, this.#stopping]));
      void bestEffort(late).then(() => meeting.endInput());
    };
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    return {
      firstHeaders: () => meeting.firstHeaders(this.#clock, this.#limits.parkMs),
      messages: () => meeting.messages(),
      end: () => {
        signal.removeEventListener("abort", leave);
        over.abort();
        meeting.end();
        if (this.#meetings.get(key) !== meeting) return; // its client has begun anew under the same id
        this.#meetings.delete(key);
        this.#remember(key);
      },
    };
  }

  #meet(key: string): Meeting {
    const meeting = new Meeting();
    this.#meetings.set(key, meeting);
    this.#over.delete(key);
    const forget = () => {
      if (this.#meetings.get(key) === meeting) this.#meetings.delete(key);
    };
    const waits = AbortSignal.any([meeting.claimed, this.#stopping]);
    void bestEffort(this.#clock.sleep(this.#limits.keepMs, waits).then(forget)); // claimed or stopped meanwhile: nothing to forget
    return meeting;
  }

  #isOver(key: string): boolean {
    const until = this.#over.get(key);
    return until !== undefined && until > this.#clock.monotonic();
  }

  #remember(key: string): void {
    this.#over.delete(key);
    this.#over.set(key, this.#clock.monotonic() + this.#limits.keepMs);
    for (const oldest of this.#over.keys()) {
      if (this.#over.size <= mostRemembered) break;
      this.#over.delete(oldest);
    }
  }
}

class Meeting {
  readonly #claimed = new AbortController();
  readonly #bell = new Bell();
  readonly #early = new Map<bigint, Append>();
  readonly #ready: Append[] = [];
  #next = 0n;
  #headers: Headers | undefined;
  #ended = false;
  #left = false;
  #inputEnded = false;
  #bytes = 0;

  /** Aborted once the way down is there. */
  get claimed(): AbortSignal {
    return this.#claimed.signal;
  }

  get size(): number {
    return this.#ready.length + this.#early.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether its way down was there, and its client has left. */
  get isLeft(): boolean {
    return this.#left;
  }

  claim(): void {
    this.#claimed.abort();
  }

  leave(): void {
    this.#left = true;
  }

  /** Ends the input: messages that arrived are passed on, and no more arrive. */
  endInput(): void {
    this.#inputEnded = true;
    this.#bell.ring();
  }

  end(): void {
    this.#ended = true;
    this.#ready.length = 0;
    this.#early.clear();
    this.#bytes = 0;
    this.#bell.ring();
  }

  /** Adds an append in its place. Late appends are passed on too, because the number inside the message decides. */
  add(append: Append): void {
    this.#headers ??= append.headers;
    if (append.seqno > this.#next) {
      if (this.#early.has(append.seqno)) return; // the same call again
      this.#early.set(append.seqno, append);
      this.#bytes += append.bytes;
      return;
    }
    this.#ready.push(append);
    this.#bytes += append.bytes;
    if (append.seqno === this.#next) this.#next++;
    for (let early = this.#early.get(this.#next); early !== undefined; early = this.#early.get(this.#next)) {
      this.#early.delete(this.#next);
      this.#ready.push(early);
      this.#next++;
    }
    this.#bell.ring();
  }

  async firstHeaders(clock: Clock, parkMs: number): Promise<Headers> {
    const stop = new AbortController();
    let isLate = false;
    const late = async () => {
      await clock.sleep(parkMs, stop.signal);
      isLate = true;
      this.#bell.ring();
    };
    void bestEffort(late()); // stopped below
    try {
      while (this.#headers === undefined) {
        await this.#bell.wait();
        if ((isLate || this.#inputEnded) && this.#headers === undefined)
          throw encodeInterruption("Nothing was appended to this attach in time.");
      }
      this.#bell.ring(); // wakes the next reader of the messages
      return this.#headers;
    } finally {
      stop.abort();
    }
  }

  async *messages(): AsyncGenerator<ClientMessage, void> {
    while (!this.#ended) {
      const next = this.#ready.shift();
      if (next === undefined) {
        if (this.#inputEnded) return;
        await this.#bell.wait();
        continue;
      }
      this.#bytes -= next.bytes;
      yield next.message;
    }
  }
}

function attachKeyOf(caller: string, requestId: string): string {
  return JSON.stringify([caller, requestId]);
}

function over(): ConnectError {
  return encodeInterruption("This attach is over; attach again, with a fresh request id.");
}

function full(): ConnectError {
  const wait = { "retry-after": "5" };
  return new ConnectError("Too much waits for its way down.", Code.ResourceExhausted, wait);
}
