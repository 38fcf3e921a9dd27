import { Code, ConnectError } from "@connectrpc/connect";
import { bestEffort, within } from "../../../base/async.ts";
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
export interface AppendLimits {
  /** How long a way down without headers waits for its first append, ms. */
  readonly parkMs: number;
  /** How long appends wait for their way down, ms; and how long the end of an attach is remembered. */
  readonly keepMs: number;
  /** Appends of one attach that wait. */
  readonly mostAppends: number;
  /** Attaches whose way down has not come. */
  readonly mostUnclaimed: number;
  /** Bytes that wait, of all attaches. */
  readonly mostBytes: number;
}

export const defaultAppends: AppendLimits = {
  parkMs: 30_000,
  keepMs: 300_000,
  mostAppends: 64,
  mostUnclaimed: 256,
  mostBytes: 128 * 1024 * 1024,
};

/** Attaches whose end is remembered at most; the oldest are forgotten first. */
const mostRemembered = 1024;

/** The client's messages of an attach that sends and receives in separate calls: the appended messages, in order. */
export interface WayUp {
  /** The headers of the first append. Throws `unavailable` when none comes in time, and the signal's reason. */
  firstHeaders(signal: AbortSignal): Promise<Headers>;
  /** Every message, as it comes, until the attach is over. */
  messages(): AsyncGenerator<ClientMessage, void>;
  /** The attach is over: later appends are refused. */
  end(): void;
}

/** Joins the calls of tiers 2 and 3 that belong to one attach, by caller and request id. The calls may come in any order. */
export class Appends {
  readonly #clock: Clock;
  readonly #limits: AppendLimits;
  readonly #stopping: AbortSignal;
  readonly #boxes = new Map<string, Mailbox>();
  /** Until when the end of an attach is remembered, on the clock that never goes back. */
  readonly #over = new Map<string, number>();

  constructor(clock: Clock, stopping: AbortSignal, limits: AppendLimits = defaultAppends) {
    this.#clock = clock;
    this.#stopping = stopping;
    this.#limits = limits;
  }

  /** Attaches whose way down has not come. */
  get unclaimed(): number {
    return [...this.#boxes.values()].filter(({ claimed }) => !claimed.aborted).length;
  }

  /** @throws ConnectError `unavailable` when the attach is over, `resource_exhausted` when too much waits. */
  append(caller: string, requestId: string, append: Append): void {
    const key = attachKeyOf(caller, requestId);
    if ((this.#over.get(key) ?? 0) > this.#clock.monotonic()) throw over();
    const held = this.#boxes.get(key);
    const { mostBytes, mostUnclaimed, mostAppends } = this.#limits;
    let waiting = append.bytes;
    for (const { bytes } of this.#boxes.values()) waiting += bytes;
    const crowded = held === undefined ? this.unclaimed >= mostUnclaimed : held.size >= mostAppends;
    if (crowded || waiting > mostBytes) throw full();
    (held ?? this.#open(key)).add(append);
  }

  /** The way up of an attach whose way down has arrived. Throws `already_exists` when the attach has a way down. */
  claim(caller: string, requestId: string): WayUp {
    const key = attachKeyOf(caller, requestId);
    const box = this.#boxes.get(key) ?? this.#open(key);
    if (box.claimed.aborted)
      throw new ConnectError("This attach is open already; take a fresh request id.", Code.AlreadyExists);
    box.claim();
    return {
      firstHeaders: async (signal) => {
        const headers = await within(box.firstHeaders(signal), this.#limits.parkMs, this.#clock);
        if (headers === undefined) throw encodeInterruption("Nothing was appended to this attach in time.");
        return headers;
      },
      messages: () => box.messages(),
      end: () => {
        box.end();
        this.#boxes.delete(key);
        this.#remember(key);
      },
    };
  }

  #open(key: string): Mailbox {
    const box = new Mailbox();
    this.#boxes.set(key, box);
    this.#over.delete(key);
    const forget = () => {
      if (this.#boxes.get(key) === box) this.#boxes.delete(key);
    };
    const waits = AbortSignal.any([box.claimed, this.#stopping]);
    void bestEffort(this.#clock.sleep(this.#limits.keepMs, waits).then(forget)); // claimed or stopped meanwhile: nothing to forget
    return box;
  }

  #remember(key: string): void {
    this.#over.set(key, this.#clock.monotonic() + this.#limits.keepMs);
    for (const oldest of this.#over.keys()) {
      if (this.#over.size <= mostRemembered) break;
      this.#over.delete(oldest);
    }
  }
}

/** The appends of one attach. */
class Mailbox {
  readonly #claimed = new AbortController();
  readonly #bell = new Bell();
  readonly #early = new Map<bigint, Append>();
  readonly #ready: Append[] = [];
  #next = 0n;
  #headers: Headers | undefined;
  #ended = false;

  /** Aborted once the way down is there. */
  get claimed(): AbortSignal {
    return this.#claimed.signal;
  }

  get size(): number {
    return this.#ready.length + this.#early.size;
  }

  get bytes(): number {
    return [...this.#ready, ...this.#early.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  claim(): void {
    this.#claimed.abort();
  }

  end(): void {
    this.#ended = true;
    this.#bell.ring();
  }

  /** Adds an append in its place. Late appends are passed on too, because the number inside the message decides. */
  add(append: Append): void {
    this.#headers ??= append.headers;
    if (append.seqno < this.#next) this.#ready.push(append);
    else this.#early.set(append.seqno, append);
    for (let next = this.#early.get(this.#next); next !== undefined; next = this.#early.get(this.#next)) {
      this.#early.delete(this.#next++);
      this.#ready.push(next);
    }
    this.#bell.ring();
  }

  async firstHeaders(signal: AbortSignal): Promise<Headers> {
    while (this.#headers === undefined) await this.#bell.wait(signal);
    this.#bell.ring(); // wakes the next reader of the messages
    return this.#headers;
  }

  async *messages(): AsyncGenerator<ClientMessage, void> {
    while (!this.#ended) {
      const next = this.#ready.shift();
      if (next === undefined) await this.#bell.wait();
      else yield next.message;
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
