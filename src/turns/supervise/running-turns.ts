import { bestEffort, within } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import type { TurnId } from "../../base/ids.ts";
import type { TurnReading, TurnWriting } from "../../log/store.ts";
import type { TurnLifecycle } from "../lifecycle.ts";
import type { Readers } from "../read/readers.ts";
import type { Runner } from "../run/runner.ts";
import { RunningTurn } from "./running-turn.ts";

/** How long a stop waits for backends to clean up. */
const cleanUpMs = 10_000;

export interface RunningTurnsOptions {
  readonly store: TurnWriting & TurnReading;
  readonly readers: Readers;
  readonly clock: Clock;
  readonly events: EventSink<TurnLifecycle>;
  /** Names this process in the store. */
  readonly owner: string;
}

/** Every turn that this process runs: owns their background work, names it, and awaits it at the end. */
export class RunningTurns {
  readonly #options: RunningTurnsOptions;
  readonly #turns = new Map<TurnId, RunningTurn>();
  readonly #aliveAtMs = new Map<TurnId, number>();

  constructor(options: RunningTurnsOptions) {
    this.#options = options;
  }

  get(turnId: TurnId): RunningTurn | undefined {
    return this.#turns.get(turnId);
  }

  /** Epoch ms of the upstream's last answer to a poll. */
  lastAliveAtMs(turnId: TurnId): number | undefined {
    return this.#aliveAtMs.get(turnId);
  }

  noteAlive(turnId: TurnId): void {
    this.#aliveAtMs.set(turnId, this.#options.clock.now());
    this.#options.events.emit("turn_polled", { turnId });
  }

  /** Starts the runner and keeps it until it is done; `afterwards` runs before the turn is removed from this list. */
  add(turnId: TurnId, runner: Runner, graceMs: number, afterwards: () => Promise<void> = async () => {}): RunningTurn {
    const { store, readers, clock, owner } = this.#options;
    const turn = new RunningTurn({ turnId, runner, readers: readers.of(turnId), graceMs, store, clock, owner });
    this.#turns.set(turnId, turn);
    void this.#untilDone(turnId, turn, afterwards);
    return turn;
  }

  /** Never rejects: a failed run is reported as a problem. */
  async #untilDone(turnId: TurnId, turn: RunningTurn, afterwards: () => Promise<void>): Promise<void> {
    const { readers, events } = this.#options;
    await bestEffort(turn.done, (error) => events.emit("turn_problem", { event: "turn_run_failed", turnId, error }));
    await bestEffort(afterwards());
    this.#turns.delete(turnId);
    this.#aliveAtMs.delete(turnId);
    readers.forget(turnId);
  }

  /** Hands every turn over, or ends it as `shutdown`; resolves when the backends have cleaned up, in ten seconds at most. */
  async stop(how: "detach" | "cancel"): Promise<void> {
    const turns = [...this.#turns.values()];
    if (how === "detach") for (const turn of turns) turn.detach();
    else for (const turn of turns) void turn.cancel("shutdown");
    await within(Promise.allSettled(turns.map((turn) => turn.done)), cleanUpMs, this.#options.clock);
  }
}
