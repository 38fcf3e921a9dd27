import type { Backends, RunOptions } from "../../backends/backend.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import { MillraceError } from "../../base/errors.ts";
import type { CascadeId, TurnId } from "../../base/ids.ts";
import type { AttachedStream } from "../../log/client-stream.ts";
import type { CancelledBy } from "../../log/event.ts";
import type { LogStore } from "../../log/store.ts";
import type { TurnLifecycle } from "../lifecycle.ts";
import type { Readers } from "../read/readers.ts";
import type { Runner } from "../run/runner.ts";
import type { Planning } from "../run/turn-plan.ts";
import type { TurnQueue } from "../start/turn-queue.ts";
import { adoptOrphanedTurns } from "./adopt-orphaned-turns.ts";
import { archiveOrphanedTrajectories, type TrajectoryNotes } from "./archive-orphaned-trajectories.ts";
import { checkBeforePrompt } from "./before-prompt.ts";
import { keepHouse } from "./housekeeping.ts";
import { type CanTakeOver, LeftToOthers } from "./left-to-others.ts";
import { RunningTurns } from "./running-turns.ts";

export interface SupervisorOptions {
  readonly planning: Planning;
  readonly store: LogStore;
  readonly backends: Backends;
  readonly clock: Clock;
  readonly owner: string;
  readonly ownerIsGone?: (owner: string) => boolean;
  /** Whether this process can go on with a turn of another machine's process; any by default. */
  readonly canTakeOver?: CanTakeOver | undefined;
  readonly readers: Readers;
  readonly queue: TurnQueue;
  readonly archive: (cascadeId: CascadeId) => Promise<void>;
  readonly trajectoryNotes?: TrajectoryNotes;
  readonly events: EventSink<TurnLifecycle>;
}

/** Runs turns to their end. Adopts turns whose process ended, at once and repeatedly, and cleans up after them. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #running: RunningTurns;
  readonly #stopping = new AbortController();
  /** Turns that this process owns in the store and that have no runner: it continues them as soon as it can. */
  readonly #again = new Set<TurnId>();
  readonly #background: Promise<unknown>;

  constructor(options: SupervisorOptions) {
    const { store, clock, owner, ownerIsGone = () => false, readers, archive, trajectoryNotes: notes } = options;
    const { planning, events, canTakeOver = async () => true } = options;
    this.#options = options;
    this.#running = new RunningTurns({ store, readers, clock, events, owner });
    const adoption = {
      ...planning,
      ...options,
      running: this.#running,
      runOptions: (turnId: TurnId) => this.runOptions(turnId),
      again: this.#again,
      ...(store.capabilities.sharedBetweenMachines === true
        ? { strays: new Set<TurnId>(), leftToOthers: new LeftToOthers({ owner, clock, canTakeOver }) }
        : {}),
    };
    const housekeeping = keepHouse(
      {
        store,
        clock,
        owner,
        adoptOrphanedTurns: () => adoptOrphanedTurns(adoption, this.stopping),
        onProblem: (error) => events.emit("turn_problem", { event: "turn_upkeep_failed", turnId: undefined, error }),
      },
      this.stopping,
    );
    const archiving =
      notes && archiveOrphanedTrajectories({ notes, store, clock, owner, ownerIsGone, archive }, this.stopping);
    this.#background = Promise.all([housekeeping, archiving]);
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  runOptions(turnId: TurnId): RunOptions {
    const { store, owner, clock } = this.#options;
    const onAlive = () => this.#running.noteAlive(turnId);
    if (store.capabilities.sharedBetweenMachines !== true) return { keep: false, onAlive };
    const letGo = () => {
      this.#again.add(turnId);
      this.#running.get(turnId)?.detach();
    };
    const beforePrompt = (signal: AbortSignal) => checkBeforePrompt(turnId, { store, owner, clock, letGo }, signal);
    return { keep: false, onAlive, beforePrompt };
  }

  run(turnId: TurnId, runner: Runner, graceMs: number): void {
    this.#running.add(turnId, runner, graceMs);
  }

  isRunning(turnId: TurnId): boolean {
    return this.#running.get(turnId) !== undefined;
  }

  extendGrace(turnId: TurnId, graceMs: number): void {
    this.#running.get(turnId)?.extendGrace(graceMs);
  }

  lastAliveAtMs(turnId: TurnId): number | undefined {
    return this.#running.lastAliveAtMs(turnId);
  }

  /** As `Turns.cancel`; for a stream: false, and nothing happens, where a newer attach has it. */
  async cancel(turnId: TurnId, by: CancelledBy, stream?: AttachedStream): Promise<boolean> {
    if (!(await this.#options.store.requestCancel(turnId, by, stream))) return false;
    await this.#running.get(turnId)?.cancel(by);
    return true;
  }

  async remove(turnId: TurnId): Promise<void> {
    await this.#running.get(turnId)?.cancel("client");
    await this.#options.store.remove(turnId);
  }

  /** Ends the turns that run, or hands them over where their log outlives this process. */
  async stop(): Promise<void> {
    this.#stopping.abort(isStopping());
    await this.#background;
    await this.#running.stop(this.#options.store.capabilities.survivesRestart ? "detach" : "cancel");
  }

  /** Other processes may take over the turns of this one from now on. */
  async release(): Promise<void> {
    const { store, owner } = this.#options;
    if (store.capabilities.survivesRestart) await store.renewOwner(owner, 0);
  }
}

/** What a reader of a turn is told, whose turn the next gateway continues. */
function isStopping(): MillraceError {
  return new MillraceError("unavailable", "The gateway is stopping. The turn continues when the gateway is back.", {
    hint: "Try again in a moment: send the same request, or read the turn from your last event.",
    retryAfterMs: 1_000,
  });
}
