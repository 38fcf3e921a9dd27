import type { Clock } from "../../base/clock.ts";
import type { MillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import type { Retention } from "../retention.ts";
import type { NewTurn } from "../store.ts";
import { LiveTurn, type LiveTurnOptions } from "./live-turn.ts";
import { expiredTurn } from "./unstored-record.ts";

/** How many turns that ended stay in memory until they were delivered, and how long; ms. */
const mostEnded = 64;
const keptMs = 60_000;

export interface LiveTurnsOptions {
  readonly clock: Clock;
  readonly retention: Retention;
  /** Called when the store did not take an append. */
  readonly onUnstored: (error: MillraceError) => void;
  /** Called when a turn leaves memory. */
  readonly onLeft: (turnId: TurnId) => void;
}

/**
 * The turns that are in memory: those that run here, those that the store lacks, and for a while those that ended, since the store may
 * fail while they are still read.
 */
export class LiveTurns {
  readonly #options: LiveTurnsOptions;
  readonly #turns = new Map<TurnId, LiveTurn>();
  /** Turns that ended and are stored; when, on the clock that never goes back. */
  readonly #endedAtMs = new Map<TurnId, number>();

  constructor(options: LiveTurnsOptions) {
    this.#options = options;
  }

  all(): readonly LiveTurn[] {
    return [...this.#turns.values()];
  }

  get(turnId: TurnId): LiveTurn | undefined {
    return this.#turns.get(turnId);
  }

  /** The turn, where memory has it still. Throws `expired` where it had, and no store has. */
  unexpired(turnId: TurnId): LiveTurn | undefined {
    const live = this.#turns.get(turnId);
    if (live === undefined || !live.record.hasExpired()) return live;
    if (!live.isStored) throw expiredTurn();
    this.letGo(turnId);
    return undefined;
  }

  /** Those that run and that the store was never seen to hold. */
  unstoredRunning(): readonly LiveTurn[] {
    return this.all().filter((live) => !live.isKnown && live.outcome === undefined);
  }

  /** A turn of the same caller and key that the store does not hold. */
  unstoredTwin({ caller, idempotencyKey }: NewTurn): LiveTurn | undefined {
    if (idempotencyKey === undefined) return undefined;
    const isTwin = ({ isKnown, record }: LiveTurn) =>
      !isKnown && record.passes({ caller, idempotencyKey, limit: 1 }, false);
    return this.all().find(isTwin);
  }

  add(begun: Pick<LiveTurnOptions, "turn" | "owner" | "opening" | "writer" | "storedSeq">): LiveTurn {
    const { turnId } = begun.turn;
    const { clock, retention, onUnstored } = this.#options;
    const live: LiveTurn = new LiveTurn({
      ...begun,
      clock,
      retention,
      epoch: begun.writer?.epoch ?? 1,
      onUnstored,
      onEnded: () => {
        if (this.#turns.get(turnId) === live) this.#keepEnded(turnId);
      },
      onLost: () => {
        if (this.#turns.get(turnId) === live) this.letGo(turnId);
      },
    });
    this.#turns.set(turnId, live);
    return live;
  }

  letGo(turnId: TurnId): void {
    this.#endedAtMs.delete(turnId);
    if (this.#turns.delete(turnId)) this.#options.onLeft(turnId);
  }

  /** The client has the whole answer: an ended turn is not needed here any more. */
  delivered(turnId: TurnId): void {
    if (this.#endedAtMs.has(turnId)) this.letGo(turnId);
  }

  /** Drops turns that are probably no longer read, and tombstones past their time. */
  sweep(nowMs: number): void {
    const { clock, retention } = this.#options;
    for (const [turnId, endedAtMs] of this.#endedAtMs) if (endedAtMs < clock.monotonic() - keptMs) this.letGo(turnId);
    for (const { turnId, isStored, record } of this.all()) {
      if (isStored || !record.hasExpired()) continue;
      if ((record.erasedAtMs ?? nowMs) <= nowMs - retention.tombstoneMs) this.letGo(turnId);
    }
  }

  #keepEnded(turnId: TurnId): void {
    this.#endedAtMs.set(turnId, this.#options.clock.monotonic());
    const [oldest] = this.#endedAtMs.keys();
    if (this.#endedAtMs.size > mostEnded && oldest !== undefined) this.letGo(oldest);
  }
}
