import { bestEffort, notNeeded } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import type { TurnId } from "../base/ids.ts";
import { TurnReaders } from "./turn-readers.ts";

/** How long a client that started a turn counts as its reader before its first read. */
const firstReadMs = 30_000;

/** How long a request waits for the reader of its twin to leave, ms, and the number of parts of that wait: after each part, the sockets' news is known. */
const leavingMs = 250;
const looks = 5;

/** The readers of every turn in this process, and the clients that started a turn and are about to read it. */
export class Readers {
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
