import { bestEffort, notNeeded } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import type { TurnId } from "../base/ids.ts";
import { Notifier } from "../base/notifier.ts";
import type { NewTurn, TurnLabel, TurnRecord } from "../log/store.ts";
import type { TurnsOptions } from "./options.ts";

/** How long a client that started a turn counts as its reader before its first read; ms. */
const firstReadMs = 30_000;

/** How long a request waits for the reader of its twin to leave, ms, and in how many parts, because closed sockets are noticed between them. */
const leavingMs = 250;
const looks = 5;

/** An adopted turn continues at least this long without readers, because its readers lost their connection to the old process; ms. */
const adoptedGraceMs = 30_000;

/** How often a gateway notes the readers of a turn in a store that it shares, and how often a turn that waits is looked up there; ms. */
const noteEveryMs = 5_000;
const lookEveryMs = 1_000;

/**
 * The readers of every turn in this process, clients that are about to read included, and the grace time of the turns that run here: no
 * other part decides whether a turn is read, or for how long it goes on without a reader. In a store that gateways share they note their
 * readers for each other.
 */
export class Readers {
  readonly #parts: Pick<TurnsOptions, "store" | "clock" | "owner">;
  readonly #turns = new Map<TurnId, TurnReaders>();
  readonly #closing = new AbortController();
  /** Waits for clients that are about to read, and notes. None rejects. */
  readonly #work = new Set<Promise<void>>();
  /** Called when a reader begins to read, or is about to. */
  onCome: () => void = () => {};

  constructor(parts: Pick<TurnsOptions, "store" | "clock" | "owner">) {
    this.#parts = parts;
  }

  /** Whether the turn has a reader in this process. */
  has(turnId: TurnId): boolean {
    return (this.#turns.get(turnId)?.count ?? 0) > 0;
  }

  /** Whether the turn has a reader: in this process, or in that of another home, as far as it is noted. */
  isRead({ turnId, owner: its, attachedAtMs }: TurnLabel): boolean {
    const { owner, store } = this.#parts;
    if (this.has(turnId)) return true;
    return its !== owner && !store.isEarlier(its, owner) && attachedAtMs + noteEveryMs * 2 > store.now();
  }

  /** Whether a turn of this process goes on: it has a reader, or needs none. */
  isWanted({ turnId, graceMs }: Pick<NewTurn, "turnId" | "graceMs">): boolean {
    return graceMs === Infinity || this.has(turnId);
  }

  /** How long a turn that runs here has no reader, and until when it goes on without one (`Infinity`: to its end). Undefined while it has one. */
  unread(turnId: TurnId): { readonly sinceMs: number; readonly untilMs: number } | undefined {
    const readers = this.#turns.get(turnId);
    if (readers?.isWatched !== true || readers.count > 0) return undefined;
    return { sinceMs: readers.leftAtMs, untilMs: readers.leftAtMs + readers.graceMs };
  }

  /** A reader reads until the returned function is called. Clients that were expected have come. */
  enter(turnId: TurnId): () => void {
    const leave = this.#enter(turnId);
    for (const arrived of this.#of(turnId).expected) arrived.abort(notNeeded);
    return leave;
  }

  /** The client that started or joined the turn counts as a reader until it reads, goes away (its signal), or for half a minute. */
  expect(turnId: TurnId, signal: AbortSignal): void {
    if (signal.aborted) return;
    const { expected } = this.#of(turnId);
    const leave = this.#enter(turnId);
    const arrived = new AbortController();
    expected.add(arrived);
    const over = AbortSignal.any([signal, arrived.signal, this.#closing.signal]);
    const wait = async () => {
      await bestEffort(this.#parts.clock.sleep(firstReadMs, over));
      expected.delete(arrived);
      leave();
    };
    this.#track(wait());
  }

  /**
   * A turn of an earlier process that was not prompted waits for a reader. One that comes to another gateway is noted in the store, and
   * counts here as well. Never rejects.
   */
  async expectFromElsewhere({ turnId, attachedAtMs }: TurnLabel, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#parts;
    if (!store.capabilities.isShared) return;
    for (let seenAtMs = attachedAtMs; !signal.aborted; ) {
      await bestEffort(clock.sleep(lookEveryMs, signal));
      const label = await store.getLabel(turnId).catch(() => undefined);
      if (signal.aborted || label === undefined || label.attachedAtMs === seenAtMs) continue;
      seenAtMs = label.attachedAtMs;
      this.expect(turnId, signal);
    }
  }

  /**
   * A client came back: extends the grace time if it asks for a longer one. Returns the turn with the new time, or unchanged if that
   * cannot be stored.
   */
  async note(record: TurnRecord, graceMs: number | undefined): Promise<TurnRecord> {
    try {
      await this.noteGrace(record.turnId, graceMs);
    } catch {
      return record; // reading it will say what is wrong
    }
    return { ...record, graceMs: Math.max(record.graceMs, graceMs ?? 0) };
  }

  /** As `note`. Rejects with the store's errors, but extends the grace of a turn that runs here first. */
  async noteGrace(turnId: TurnId, graceMs: number | undefined): Promise<void> {
    const { store } = this.#parts;
    if (graceMs !== undefined) this.#turns.get(turnId)?.extend(graceMs);
    if (graceMs !== undefined || store.capabilities.isShared) await store.noteReader(turnId, store.now(), graceMs);
  }

  /** Resolves once one of the turns has no reader here, or after a quarter of a second. Rejects with the signal's reason. */
  async untilOneIsUnread(turnIds: readonly TurnId[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const untilMs = clock.monotonic() + leavingMs;
    while (turnIds.every((turnId) => this.has(turnId)) && clock.monotonic() < untilMs)
      await Promise.race(turnIds.map((turnId) => this.#of(turnId).changedWithin(leavingMs / looks, signal)));
  }

  /**
   * Resolves once a turn that runs here had no reader for its grace time.
   * Never resolves if the grace time is endless. Rejects with the signal's reason.
   */
  async untilAbandoned(
    { turnId, graceMs }: Pick<NewTurn, "turnId" | "graceMs">,
    isAdopted: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const readers = this.#of(turnId);
    readers.isWatched = true;
    readers.extend(Math.max(graceMs, isAdopted ? adoptedGraceMs : 0));
    try {
      return await this.#untilAbandoned(turnId, readers, signal);
    } finally {
      readers.isWatched = false;
      this.#forget(turnId);
    }
  }

  async #untilAbandoned(turnId: TurnId, readers: TurnReaders, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#parts;
    let quietSinceMs = readers.unreadSinceMs;
    for (;;) {
      const { graceMs } = readers;
      if (readers.count > 0 || graceMs === Infinity) {
        await readers.changes.wait(signal);
        quietSinceMs = readers.unreadSinceMs;
        continue;
      }
      quietSinceMs = Math.max(quietSinceMs, readers.unreadSinceMs);
      const leftMs = quietSinceMs + graceMs - clock.monotonic();
      if (leftMs > 0) {
        await readers.changedWithin(leftMs, signal);
        continue;
      }
      if (!store.capabilities.isShared) return;
      const label = await store.getLabel(turnId).catch(() => "failing" as const);
      if (label === "failing") return; // a store that fails knows of no reader
      readers.extend(label?.graceMs ?? 0);
      if (readers.count > 0 || readers.graceMs > graceMs) continue;
      const agoMs = store.now() - (label?.attachedAtMs ?? store.now());
      const elsewhere = clock.monotonic() - Math.max(0, agoMs);
      if (elsewhere <= quietSinceMs || elsewhere + graceMs <= clock.monotonic()) return;
      quietSinceMs = elsewhere;
    }
  }

  /** Gives up on everyone who is expected. */
  async close(): Promise<void> {
    this.#closing.abort(notNeeded);
    await Promise.all(this.#work);
  }

  #of(turnId: TurnId): TurnReaders {
    const readers = this.#turns.get(turnId) ?? new TurnReaders(this.#parts.clock);
    this.#turns.set(turnId, readers);
    return readers;
  }

  #enter(turnId: TurnId): () => void {
    const readers = this.#of(turnId);
    readers.come();
    if (!readers.isNoted && this.#parts.store.capabilities.isShared) this.#track(this.#noteWhileRead(turnId, readers));
    this.onCome();
    let here = true;
    return () => {
      if (here) readers.leave();
      here = false;
      this.#forget(turnId);
    };
  }

  async #noteWhileRead(turnId: TurnId, readers: TurnReaders): Promise<void> {
    const { store } = this.#parts;
    const { signal } = this.#closing;
    readers.isNoted = true;
    while (readers.count > 0 && !signal.aborted) {
      await bestEffort(store.noteReader(turnId, store.now())); // if the store fails, the turn only loses grace time
      if (readers.count > 0) await bestEffort(readers.changedWithin(noteEveryMs, signal));
    }
    readers.isNoted = false;
  }

  /** Forgets a turn that neither runs here nor has a reader. */
  #forget(turnId: TurnId): void {
    if (!this.has(turnId) && this.#turns.get(turnId)?.isWatched === false) this.#turns.delete(turnId);
  }

  #track(work: Promise<void>): void {
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }
}

/** The readers of one turn in this process, and since when it has none: by the monotonic clock. */
class TurnReaders {
  readonly #clock: Clock;
  count = 0;
  unreadSinceMs: number;
  /** The same moment, epoch ms. */
  leftAtMs: number;
  /** How long the turn runs without a reader: the longest that was ever asked for. `Infinity`: to its end. */
  graceMs = 0;
  /** The turn runs here. */
  isWatched = false;
  /** Its readers are noted in the store. */
  isNoted = false;
  /** One for each client that is about to read. */
  readonly expected = new Set<AbortController>();
  readonly changes = new Notifier();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.unreadSinceMs = clock.monotonic();
    this.leftAtMs = clock.now();
  }

  come(): void {
    this.count += 1;
    this.changes.wake();
  }

  leave(): void {
    this.count -= 1;
    this.unreadSinceMs = this.#clock.monotonic();
    this.leftAtMs = this.#clock.now();
    this.changes.wake();
  }

  extend(graceMs: number): void {
    if (graceMs <= this.graceMs) return;
    this.graceMs = graceMs;
    this.changes.wake();
  }

  /** Resolves at the next change, or after so long. Rejects with the signal's reason. */
  async changedWithin(ms: number, signal: AbortSignal): Promise<void> {
    const either = new AbortController();
    const both = AbortSignal.any([signal, either.signal]);
    const quiet = (promise: Promise<void>) => promise.catch(() => undefined);
    await Promise.race([quiet(this.changes.wait(both)), quiet(this.#clock.sleep(ms, both))]);
    either.abort(notNeeded);
    signal.throwIfAborted();
  }
}
