import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../base/clock.ts";
import { writeJson } from "../../../base/json.ts";
import { Bell } from "../../../base/notifier.ts";
import type { StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage } from "../../../proto/aiserver/v1/chat_pb.ts";
import { encodeInterruption } from "../../dialects/idempotent/errors.ts";
import type { BodyMemory } from "../../http/body.ts";

/** The content of one append. */
export interface AppendedMessage {
  /** Its place among the appends of its attach. */
  readonly seqno: bigint;
  readonly message: ClientMessage;
  /** The memory that it takes. */
  readonly bytes: number;
}

/** How long and how much waits until the two ways of an attach meet. Source: docs/dev/wire/idempotent-streams.md, "Tiers". */
export const defaultLimits = {
  /** How long appends wait for their way down, ms; and how long the end of an attach is remembered. */
  keepMs: 300_000,
  /** Appends of one attach that wait. */
  mostAppends: 64,
  /** Attaches whose way down has not come. */
  mostUnclaimed: 256,
};

/** Whose calls they are. */
interface Appender {
  readonly digest: string;
  readonly memory: () => BodyMemory;
}

/**
 * Joins the calls of tiers 2 and 3 that belong to one attach, by caller and request id. The calls may come in any order. What waits counts
 * with the bodies of HTTP.
 */
export class Appends {
  readonly #clock: Clock;
  readonly #limits: typeof defaultLimits;
  readonly #ways = new Map<string, WayUp>();

  constructor(clock: Clock, limits = defaultLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Attaches whose way down has not come. */
  get unclaimed(): number {
    this.#forget();
    return [...this.#ways.values()].filter(({ phase }) => phase === "unclaimed").length;
  }

  /** @throws ConnectError `unavailable` when the attach is over, `resource_exhausted` when too much waits; MillraceError `unavailable` as `BodyMemory.hold`. */
  append(caller: Appender, requestId: string, append: AppendedMessage): void {
    this.#forget();
    const key = attachKeyOf(caller, requestId);
    const known = this.#ways.get(key);
    if (known?.phase === "over") throw over();
    const { mostUnclaimed, mostAppends } = this.#limits;
    const crowded = known === undefined ? this.unclaimed >= mostUnclaimed : known.size >= mostAppends;
    if (crowded) throw full();
    (known ?? this.#open(key, caller)).add(append);
  }

  /** The way up of an attach whose way down has arrived. Throws `already_exists` when the attach has a way down. */
  claim(caller: Appender, requestId: string): WayUp {
    this.#forget();
    const key = attachKeyOf(caller, requestId);
    const known = this.#ways.get(key);
    if (known?.phase === "open")
      throw new ConnectError("This attach is open already; take a fresh request id.", Code.AlreadyExists);
    const way = known?.phase === "unclaimed" ? known : this.#open(key, caller);
    way.claim();
    return way;
  }

  #open(key: string, { memory }: Appender): WayUp {
    const way = new WayUp(this.#clock, this.#limits, memory());
    this.#ways.set(key, way);
    return way;
  }

  #forget(): void {
    const nowMs = this.#clock.monotonic();
    for (const [key, way] of this.#ways) {
      if (way.keptUntilMs > nowMs) continue;
      way.end();
      this.#ways.delete(key);
    }
  }
}

/** The client's messages of an attach that sends and receives in separate calls: the appended messages, in order. */
export class WayUp {
  readonly #clock: Clock;
  readonly #limits: typeof defaultLimits;
  readonly #memory: BodyMemory;
  readonly #bell = new Bell();
  readonly #early = new Map<bigint, AppendedMessage>();
  #ready: AppendedMessage[] = [];
  #next = 0n;
  #phase: "unclaimed" | "open" | "over" = "unclaimed";
  /** By the clock that never goes back. */
  #keptUntilMs: number;

  constructor(clock: Clock, limits: typeof defaultLimits, memory: BodyMemory) {
    this.#clock = clock;
    this.#limits = limits;
    this.#memory = memory;
    this.#keptUntilMs = clock.monotonic() + limits.keepMs;
  }

  get phase(): "unclaimed" | "open" | "over" {
    return this.#phase;
  }

  get keptUntilMs(): number {
    return this.#keptUntilMs;
  }

  get size(): number {
    return this.#ready.length + this.#early.size;
  }

  #bytes(): number {
    return [...this.#ready, ...this.#early.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The way down is there. */
  claim(): void {
    this.#phase = "open";
    this.#keptUntilMs = Number.POSITIVE_INFINITY;
  }

  /** The attach is over: later appends are refused. */
  end(): void {
    this.#phase = "over";
    this.#keptUntilMs = this.#clock.monotonic() + this.#limits.keepMs;
    this.#ready = [];
    this.#early.clear();
    this.#memory.hold(0);
    this.#bell.ring();
  }

  /** Adds an append in its place. Late appends are passed on too, because the number inside the message decides. */
  add(append: AppendedMessage): void {
    this.#memory.hold(this.#bytes() + append.bytes);
    if (append.seqno < this.#next) this.#ready.push(append);
    else this.#early.set(append.seqno, append);
    for (let next = this.#early.get(this.#next); next !== undefined; next = this.#early.get(this.#next)) {
      this.#early.delete(this.#next++);
      this.#ready.push(next);
    }
    this.#bell.ring();
  }

  /** Every message, as it comes, until the attach is over. */
  async *messages(): AsyncGenerator<ClientMessage, void> {
    while (this.#phase !== "over") {
      const next = this.#ready.shift();
      if (next === undefined) await this.#bell.wait();
      else {
        yield next.message; // it counts until its reader has worked on it
        this.#memory.hold(this.#bytes());
      }
    }
  }
}

function attachKeyOf({ digest }: Appender, requestId: string): string {
  return writeJson([digest, requestId]);
}

function over(): ConnectError {
  return encodeInterruption("This attach is over; attach again, with a fresh request id.");
}

function full(): ConnectError {
  const wait = { "retry-after": "5" };
  return new ConnectError("Too much waits for its way down.", Code.ResourceExhausted, wait);
}
