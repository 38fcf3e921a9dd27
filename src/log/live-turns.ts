import type { Clock } from "../base/clock.ts";
import type { TurnId } from "../base/ids.ts";
import type { LiveTurn } from "./live-turn.ts";
import type { TurnLabel, TurnRecord } from "./store.ts";

/** How many turns that ended stay in memory, and how long if the store has them; ms. Those that it lacks stay until they expire. */
const mostEnded = 64;
const mostDegraded = 1_000;
const keptMs = 60_000;

/** The turns that this process has in memory: those that it runs, and the newest of those that ended. */
export class LiveTurns {
  readonly #clock;
  readonly #turns = new Map<TurnId, LiveTurn>();
  /** When turns in memory ended, on the clock that never goes back. */
  readonly #endedAtMs = new Map<TurnId, number>();

  constructor(clock: Pick<Clock, "now" | "monotonic">) {
    this.#clock = clock;
  }

  add(live: LiveTurn): void {
    this.#turns.set(live.turnId, live);
  }

  /** The turn, also one that has expired. */
  get(turnId: TurnId): LiveTurn | undefined {
    return this.#turns.get(turnId);
  }

  /** The turn, where memory has it still. One that has expired leaves memory, and the store says so. */
  current(turnId: TurnId): LiveTurn | undefined {
    const live = this.#turns.get(turnId);
    if (live?.hasExpired(this.#clock.now()) !== true) return live;
    this.letGo(turnId);
    return undefined;
  }

  all(): readonly LiveTurn[] {
    return [...this.#turns.values()];
  }

  /** The record of memory, where only memory has the newest. */
  newest<Facts extends TurnLabel>(record: Facts): Facts | TurnRecord {
    const live = this.#turns.get(record.turnId);
    return (live?.isDegraded === true ? live.shown({}) : undefined) ?? record;
  }

  /** The turn has ended: it stays for a while, and the oldest of too many goes. */
  keepEnded(live: LiveTurn): void {
    if (this.#turns.get(live.turnId) !== live) return;
    this.#endedAtMs.set(live.turnId, this.#clock.monotonic());
    const ended = [...this.#endedAtMs.keys()].filter((id) => this.#turns.get(id)?.isDegraded === live.isDegraded);
    const [oldest] = ended;
    if (oldest !== undefined && ended.length > (live.isDegraded ? mostDegraded : mostEnded)) this.letGo(oldest);
  }

  /** Lets go of what has expired, and of what ended a while ago and is in the store. */
  sweep(): void {
    const nowMs = this.#clock.now();
    for (const live of this.#turns.values()) {
      const isOld = (this.#endedAtMs.get(live.turnId) ?? Infinity) < this.#clock.monotonic() - keptMs;
      if (live.hasExpired(nowMs) || (isOld && !live.isDegraded)) this.letGo(live.turnId);
    }
  }

  letGo(turnId: TurnId): void {
    this.#endedAtMs.delete(turnId);
    this.#turns.delete(turnId);
  }
}
