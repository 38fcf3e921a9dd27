import { bestEffort, notNeeded } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import type { TurnId } from "../base/ids.ts";
import { Notifier } from "../base/notifier.ts";

/** How long a client that started a turn counts as its reader before its first read. */
const firstReadMs = 30_000;

/** How long a request waits for the reader of its twin to leave, ms, and in how many parts, because closed sockets are noticed between them. */
const leavingMs = 250;
const looks = 5;

/** The readers of every turn in this process, and the clients that started a turn and are about to read it. */
export class ReaderRegistry {
  readonly #clock: Clock;
  readonly #turns = new Map<TurnId, TurnReaders>();
  readonly #expected = new Map<TurnId, Set<AbortController>>();
  readonly #waits = new Set<Promise<void>>();
  /** Called when a reader begins to read, or is about to. */
  onCome: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(turnId: TurnId): TurnReaders {
    const known = this.#turns.get(turnId);
    if (known !== undefined) return known;
    const readers = new TurnReaders(this.#clock);
    this.#turns.set(turnId, readers);
    return readers;
  }

  has(turnId: TurnId): boolean {
    return (this.#turns.get(turnId)?.count ?? 0) > 0;
  }

  /** Forgets a turn that is over, unless it still has a reader. */
  forget(turnId: TurnId): void {
    if (!this.has(turnId)) this.#turns.delete(turnId);
  }

  /** The client that started or joined the turn counts as a reader until it reads, goes away (its signal), or for half a minute. */
  expect(turnId: TurnId, signal: AbortSignal): void {
    if (signal.aborted) return;
    const leave = this.of(turnId).enter();
    this.onCome();
    const arrived = new AbortController();
    const expected = this.#expected.get(turnId) ?? new Set();
    this.#expected.set(turnId, expected.add(arrived));
    const wait = this.#untilArrived(turnId, arrived, signal, leave);
    this.#waits.add(wait);
    void wait.finally(() => this.#waits.delete(wait));
  }

  /** A reader reads until the returned function is called. Clients that were expected have come. */
  enter(turnId: TurnId): () => void {
    const leave = this.of(turnId).enter();
    this.onCome();
    for (const arrived of this.#expected.get(turnId) ?? []) arrived.abort(notNeeded);
    return leave;
  }

  /** Resolves once one of the turns has no reader, or after a quarter of a second. Rejects with the signal's reason. */
  async untilOneIsUnread(turnIds: readonly TurnId[], signal: AbortSignal): Promise<void> {
    const left = new AbortController();
    const watching = new AbortController();
    const either = AbortSignal.any([signal, watching.signal]);
    const watches = turnIds.map((turnId) =>
      bestEffort(
        this.of(turnId)
          .untilNone(either)
          .then(() => left.abort(notNeeded)),
      ),
    );
    const over = AbortSignal.any([left.signal, signal]);
    for (let look = 0; look < looks && !over.aborted; look++)
      await bestEffort(this.#clock.sleep(leavingMs / looks, over));
    watching.abort(notNeeded);
    await Promise.all(watches);
    signal.throwIfAborted();
  }

  /** Never rejects. */
  async #untilArrived(turnId: TurnId, arrived: AbortController, signal: AbortSignal, leave: () => void): Promise<void> {
    await bestEffort(this.#clock.sleep(firstReadMs, AbortSignal.any([signal, arrived.signal])));
    const expected = this.#expected.get(turnId);
    expected?.delete(arrived);
    if (expected?.size === 0) this.#expected.delete(turnId);
    leave();
  }

  /** Gives up on everyone who is expected. */
  async close(): Promise<void> {
    for (const expected of this.#expected.values()) for (const arrived of expected) arrived.abort(notNeeded);
    await Promise.all(this.#waits);
  }
}

/** How far the clocks of machines that share a store may be apart; ms. */
const skewMs = 10_000;

/** The time that a turn goes on without a reader, epoch ms. */
export interface Unread {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The readers of one turn in this process, and since when it has none: by the monotonic clock. */
export class TurnReaders {
  readonly #clock: Clock;
  #count = 0;
  #unreadSinceMs: number;
  /** The same moment, epoch ms. */
  #leftAtMs: number;
  #graceMs = 0;
  readonly #changes = new Notifier();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#unreadSinceMs = clock.monotonic();
    this.#leftAtMs = clock.now();
  }

  get count(): number {
    return this.#count;
  }

  /** A reader reads until the returned function is called; a second call does nothing. */
  enter(): () => void {
    this.#count += 1;
    this.#changes.wake();
    let here = true;
    return () => {
      if (!here) return;
      here = false;
      this.#count -= 1;
      this.#unreadSinceMs = this.#clock.monotonic();
      this.#leftAtMs = this.#clock.now();
      this.#changes.wake();
    };
  }

  /** Since when the turn has no reader here, and until when it goes on without one (`Infinity`: to its end); epoch ms. Undefined while it has one. */
  get unread(): Unread | undefined {
    return this.#count > 0 ? undefined : { sinceMs: this.#leftAtMs, untilMs: this.#leftAtMs + this.#graceMs };
  }

  /** How long the turn runs without a reader: the longest that was ever asked for. `Infinity`: to its end. */
  extendGrace(graceMs: number): void {
    if (graceMs <= this.#graceMs) return;
    this.#graceMs = graceMs;
    this.#changes.wake();
  }

  /** Resolves once there is no reader here (at once if so). Rejects with the signal's reason. */
  async untilNone(signal: AbortSignal): Promise<void> {
    while (this.#count > 0) await this.#changes.wait(signal);
  }

  /**
   * Resolves once the turn had no reader for the grace time, in this process or in another. It asks `seenElsewhereAtMs` (epoch ms)
   * when the time is over, and waits on if another process had a reader since. Never resolves if the grace time is endless.
   * Rejects with the signal's reason.
   */
  async untilAbandoned(seenElsewhereAtMs: () => Promise<number>, signal: AbortSignal): Promise<void> {
    let quietSinceMs = this.#unreadSinceMs;
    for (;;) {
      const graceMs = this.#graceMs;
      if (this.#count > 0 || graceMs === Infinity) {
        await this.#changes.wait(signal);
        quietSinceMs = this.#unreadSinceMs;
        continue;
      }
      quietSinceMs = Math.max(quietSinceMs, this.#unreadSinceMs);
      const leftMs = quietSinceMs + graceMs - this.#clock.monotonic();
      if (leftMs > 0) {
        await this.#changedWithin(leftMs, signal);
        continue;
      }
      const seenAtMs = await seenElsewhereAtMs();
      if (this.#count > 0 || this.#graceMs > graceMs) continue;
      const agoMs = this.#clock.now() - seenAtMs;
      if (agoMs < -skewMs) return; // noted before the clock was set back: a reader that is still there would have noted it again
      const elsewhere = this.#clock.monotonic() - Math.max(0, agoMs);
      if (elsewhere <= quietSinceMs || elsewhere + graceMs <= this.#clock.monotonic()) return;
      quietSinceMs = elsewhere;
    }
  }

  async #changedWithin(ms: number, signal: AbortSignal): Promise<void> {
    const either = new AbortController();
    const both = AbortSignal.any([signal, either.signal]);
    const quiet = (promise: Promise<void>) => promise.catch(() => undefined);
    await Promise.race([quiet(this.#changes.wait(both)), quiet(this.#clock.sleep(ms, both))]);
    either.abort(notNeeded);
    signal.throwIfAborted();
  }
}
