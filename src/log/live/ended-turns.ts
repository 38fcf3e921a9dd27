import type { Clock } from "../../base/clock.ts";
import type { TurnId } from "../../base/ids.ts";

/** How many turns that ended stay in memory until they were delivered, and how long; ms. */
const most = 64;
const keptMs = 60_000;

/** Turns that ended in the store and may not be read to their end yet: their readers need them if the store fails in that moment. */
export class EndedTurns {
  readonly #endedAtMs = new Map<TurnId, number>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(turnId: TurnId): boolean {
    return this.#endedAtMs.has(turnId);
  }

  /** Answers which turn is too many, if one is. */
  add(turnId: TurnId): TurnId | undefined {
    this.#endedAtMs.set(turnId, this.#clock.monotonic());
    const [oldest] = this.#endedAtMs.keys();
    return this.#endedAtMs.size > most ? oldest : undefined;
  }

  delete(turnId: TurnId): boolean {
    return this.#endedAtMs.delete(turnId);
  }

  /** Those that nobody is likely to be reading still. */
  longAgo(): readonly TurnId[] {
    const beforeMs = this.#clock.monotonic() - keptMs;
    return [...this.#endedAtMs].filter(([, endedAtMs]) => endedAtMs < beforeMs).map(([turnId]) => turnId);
  }
}
