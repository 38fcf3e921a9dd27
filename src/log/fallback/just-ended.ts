import type { Clock } from "../../base/clock.ts";
import type { TurnId } from "../../base/ids.ts";

/** How many turns that ended are kept at hand, and how long; ms. */
const most = 64;
const keptMs = 60_000;

/** Turns that ended in the store and may not be read to their end yet: their readers need them here if it fails in that moment. */
export class JustEnded {
  readonly #endedAtMs = new Map<TurnId, number>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Answers which turn is too many, if one is. */
  add(turnId: TurnId): TurnId | undefined {
    this.#endedAtMs.set(turnId, this.#clock.monotonic());
    const [oldest] = this.#endedAtMs.keys();
    return this.#endedAtMs.size > most ? oldest : undefined;
  }

  /** Whether it was here. */
  delete(turnId: TurnId): boolean {
    return this.#endedAtMs.delete(turnId);
  }

  /** Those that nobody is likely to be reading still. */
  longAgo(): readonly TurnId[] {
    const beforeMs = this.#clock.monotonic() - keptMs;
    return [...this.#endedAtMs].filter(([, endedAtMs]) => endedAtMs < beforeMs).map(([turnId]) => turnId);
  }
}
