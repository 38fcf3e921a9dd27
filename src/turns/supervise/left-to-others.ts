import type { Clock } from "../../base/clock.ts";
import type { TurnId } from "../../base/ids.ts";
import type { TurnRecord } from "../../log/store.ts";

/** How long a turn that cannot go on here is left to a process on another machine, where it may; ms. */
const leftForMs = 60_000;

/** Whether this process can go on with a turn that another one began. It only looks. */
export type CanTakeOver = (turn: Pick<TurnRecord, "owner" | "lastEventId">, signal: AbortSignal) => Promise<boolean>;

/** Orphaned turns of a store that machines share, which another machine's process can go on with and this one cannot. */
export class LeftToOthers {
  readonly #owner: string;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #canTakeOver: CanTakeOver;
  #since: ReadonlyMap<TurnId, number> = new Map();

  constructor(options: {
    readonly owner: string;
    readonly clock: Pick<Clock, "monotonic">;
    readonly canTakeOver: CanTakeOver;
  }) {
    this.#owner = options.owner;
    this.#clock = options.clock;
    this.#canTakeOver = options.canTakeOver;
  }

  /** The orphans that this process takes now. They include a turn that no process took for a minute, so that it ends. */
  async taken(orphans: readonly TurnRecord[], signal: AbortSignal): Promise<readonly TurnRecord[]> {
    const nowMs = this.#clock.monotonic();
    const since = new Map<TurnId, number>();
    const taken: TurnRecord[] = [];
    for (const turn of orphans) {
      const sinceMs = this.#since.get(turn.turnId) ?? nowMs;
      const isOurs = turn.owner === this.#owner || nowMs - sinceMs >= leftForMs;
      if (isOurs || (await this.#canTakeOver(turn, signal))) taken.push(turn);
      else since.set(turn.turnId, sinceMs);
    }
    this.#since = since;
    return taken;
  }
}
