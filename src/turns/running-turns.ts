import type { RunOptions } from "../backends/backend.ts";
import { bestEffort, notNeeded, within } from "../base/async.ts";
import type { EventSink } from "../base/emitter.ts";
import { MillraceError } from "../base/errors.ts";
import type { TurnId } from "../base/ids.ts";
import type { CancelledBy } from "../log/event.ts";
import type { AttachedStream, TurnRecord } from "../log/store.ts";
import type { TurnLifecycle } from "./lifecycle.ts";
import type { TurnsOptions } from "./options.ts";
import type { Readers } from "./readers.ts";
import type { Runner } from "./run.ts";

/** How long a stop waits for backends to clean up; ms. */
export const cleanUpMs = 10_000;

type Parts = Pick<TurnsOptions, "store" | "clock"> & {
  readonly readers: Readers;
  readonly events: EventSink<TurnLifecycle>;
};

/** Every turn that this process runs, to its end: after a cancel, without readers for its grace time, or at a stop of the gateway. */
export class RunningTurns {
  readonly #parts: Parts;
  /** The turns that run here. */
  readonly #runs = new Map<
    TurnId,
    {
      readonly runner: Runner;
      /** Resolves when the backend has cleaned up; rejects with the log's errors. */
      readonly done: Promise<void>;
    }
  >();
  readonly #aliveAtMs = new Map<TurnId, number>();
  /** Turns that no later process can continue. */
  readonly #endWithGateway = new Set<TurnId>();
  readonly #stopping = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Aborts when the gateway stops, with the error for the readers. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  has(turnId: TurnId): boolean {
    return this.#runs.has(turnId);
  }

  /** Epoch ms of the upstream's last answer to a poll; undefined before the first. */
  lastAliveAtMs(turnId: TurnId): number | undefined {
    return this.#aliveAtMs.get(turnId);
  }

  /** A backend's options for this turn. */
  optionsOf(turnId: TurnId): RunOptions {
    const { clock, events } = this.#parts;
    const onAlive = () => {
      this.#aliveAtMs.set(turnId, clock.now());
      events.emit("turn_polled", { turnId });
    };
    const onEndsWithGateway = (ends: boolean) => {
      if (ends) this.#endWithGateway.add(turnId);
      else this.#endWithGateway.delete(turnId);
    };
    return { keep: false, onAlive, onEndsWithGateway };
  }

  /**
   * Starts the runner and keeps it until it is done. `cleanUp`, of a turn that was adopted, runs before the turn is removed from this
   * list.
   */
  add(turn: TurnRecord, runner: Runner, cleanUp?: () => Promise<void>): void {
    const { readers, events } = this.#parts;
    const { turnId } = turn;
    const watching = new AbortController();
    const abandoned = readers.untilAbandoned(turn, cleanUp !== undefined, watching.signal);
    const watches = this.#watch(turnId, runner, abandoned, watching.signal);
    void runner.over.then(() => watching.abort(notNeeded));
    const done = (async () => {
      try {
        await runner.run();
      } finally {
        await Promise.all(watches);
      }
    })();
    this.#runs.set(turnId, { runner, done });
    if (this.#stopping.signal.aborted) this.#stopAll(); // its request came before the stop, and was slow
    void (async () => {
      await bestEffort(done, (error) => events.emit("turn_problem", { event: "turn_run_failed", turnId, error }));
      await bestEffort(cleanUp?.() ?? Promise.resolve());
      this.#runs.delete(turnId);
      this.#aliveAtMs.delete(turnId);
      this.#endWithGateway.delete(turnId);
    })();
  }

  /** The two causes of an early end. Both watches end with the run; if the store fails, only news from other processes is missed. */
  #watch(
    turnId: TurnId,
    runner: Runner,
    abandoned: ReturnType<Readers["untilAbandoned"]>,
    signal: AbortSignal,
  ): readonly Promise<unknown>[] {
    const { store } = this.#parts;
    const cancel = (by: CancelledBy) => runner.stop({ type: "cancel", by });
    const abandon = async () => {
      await bestEffort(store.requestCancel(turnId, "abandoned")); // stored first: a crash from here on does not undo it
      cancel("abandoned");
    };
    return [bestEffort(store.untilCancelRequested(turnId, signal).then(cancel)), bestEffort(abandoned.then(abandon))];
  }

  /** As `Turns.cancel`; for a stream: false, and nothing happens, where a newer attach has it. */
  async cancel(turnId: TurnId, by: CancelledBy, stream?: AttachedStream): Promise<boolean> {
    if (!(await this.#parts.store.requestCancel(turnId, by, stream))) return false;
    await this.#end(turnId, by);
    return true;
  }

  async remove(turnId: TurnId): Promise<void> {
    await this.#end(turnId, "client");
    await this.#parts.store.remove(turnId);
  }

  /** Resolves when the turn has ended, not when the backend has cleaned up. */
  async #end(turnId: TurnId, by: CancelledBy): Promise<void> {
    const runner = this.#runs.get(turnId)?.runner;
    runner?.stop({ type: "cancel", by });
    await runner?.over;
  }

  /**
   * Ends as `shutdown` each turn that no later process can continue, and hands the others over; then tells their readers that the gateway
   * stops. `upkeep` ends after that, and may have taken over further turns. Resolves when the backends have cleaned up, in ten seconds
   * at most.
   */
  async stop(upkeep: Promise<unknown>): Promise<void> {
    const { clock } = this.#parts;
    const over = this.#stopAll().map(({ runner }) => runner.over); // readers get the end of a turn first
    await within(Promise.all(over), cleanUpMs, clock);
    this.#stopping.abort(isStopping());
    await upkeep;
    const done = this.#stopAll().map((run) => run.done);
    await within(Promise.allSettled(done), cleanUpMs, clock);
  }

  #stopAll() {
    const isKept = this.#parts.store.capabilities.survivesRestart;
    for (const [turnId, { runner }] of this.#runs) {
      const goesOn = isKept && !this.#endWithGateway.has(turnId);
      runner.stop(goesOn ? { type: "detach" } : { type: "cancel", by: "shutdown" });
    }
    return [...this.#runs.values()];
  }
}

/** The error for readers of a turn that the next gateway continues. */
function isStopping(): MillraceError {
  return new MillraceError("unavailable", "The gateway is stopping. The turn continues when the gateway is back.", {
    hint: "Try again in a moment: send the same request, or read the turn from your last event.",
    retryAfterMs: 1_000,
  });
}
