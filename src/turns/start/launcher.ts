import type { Backend, Backends, Prompt, RunOptions } from "../../backends/backend.ts";
import { within } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import type { ModelUid, TurnId } from "../../base/ids.ts";
import type { LogWriter, NewTurn, TurnRecord } from "../../log/store.ts";
import type { Continuity } from "../continuity/continuity.ts";
import type { TurnLifecycle } from "../lifecycle.ts";
import type { Readers } from "../read/readers.ts";
import type { EventStage } from "../run/event-stage.ts";
import { Runner } from "../run/runner.ts";
import { newTurnExchange } from "../run/turn-exchange.ts";
import { type Planning, promptOf, stagesOf } from "../run/turn-plan.ts";
import type { TrajectoryNotes } from "../supervise/archive-orphaned-trajectories.ts";
import type { StartedTurn, StartTurn } from "../turns.ts";
import type { Admission } from "./admission.ts";
import { newTurnOf } from "./new-turn.ts";
import type { Refusals } from "./refusals.ts";
import type { TurnQueue } from "./turn-queue.ts";

export interface LauncherOptions {
  readonly planning: Planning;
  readonly backends: Backends;
  readonly clock: Clock;
  /** The grace time of a turn whose request asks for none; ms. */
  readonly graceMs: number;
  readonly readers: Readers;
  readonly queue: TurnQueue;
  readonly refusals: Refusals;
  /** Whether a turn may start at all; each may without it. */
  readonly admission?: Admission | undefined;
  readonly continuity: Continuity | undefined;
  readonly trajectoryNotes?: Pick<TrajectoryNotes, "asked"> | undefined;
  readonly events: EventSink<TurnLifecycle>;
  readonly running: {
    runOptions(turnId: TurnId): RunOptions;
    run(turnId: TurnId, runner: Runner, graceMs: number): void;
  };
}

/** A turn that can be stored, and its backend's input. */
export interface PreparedTurn {
  readonly turn: NewTurn;
  readonly prompt: Prompt;
  readonly backend: Backend;
}

/** A run that was begun, and how its prompt reaches the model. */
export interface BegunRun {
  readonly runner: Runner;
  readonly continuity: StartedTurn["continuity"];
}

/** How long a stop waits for the clean-up of turns that were begun upstream but not stored; ms. */
const cleanUpMs = 10_000;

/** Makes the runner of a new turn, whether a request starts it or a message of a stream. */
export class Launcher {
  readonly #options: LauncherOptions;
  /** Runs that have begun upstream and whose turn is not stored: until it is, or until they have cleaned up. */
  readonly #unstored = new Map<Runner, Promise<void>>();
  /** Turns that are stored and run, until the work of `starting` is over. */
  readonly #begun = new Set<TurnId>();

  constructor(options: LauncherOptions) {
    this.#options = options;
  }

  /**
   * Runs every step that may fail before the turn is stored, and then `work`, which begins the turn or does not. Throws the errors of
   * finding a backend, repeated refusals, and the reason if the turn is not admitted.
   */
  async starting<T>(asked: StartTurn, signal: AbortSignal, work: (prepared: PreparedTurn) => Promise<T>): Promise<T> {
    const { planning, refusals, backends, clock, graceMs, admission } = this.#options;
    const prompt = promptOf(planning, asked);
    await refusals.check(asked.modelUid);
    const backend = await backends.choose(prompt, signal);
    const turn = newTurnOf(asked, clock.now(), graceMs);
    const withdraw = await admission?.admit(turn);
    try {
      return await work({ turn, prompt, backend });
    } finally {
      if (!this.#begun.delete(turn.turnId)) withdraw?.();
    }
  }

  /**
   * Begins upstream while the turn is being stored. It starts a conversation, and sends no prompt before `started` is stored, which
   * waits for `writer`. If `writer` rejects, the conversation is cancelled. `watches`: further stages that see the events of the turn.
   */
  launch(
    { turn, backend, prompt }: PreparedTurn,
    writer: Promise<LogWriter>,
    watches: readonly EventStage[],
  ): BegunRun {
    const { planning, continuity: conversations, refusals, running, clock, queue } = this.#options;
    const asked = { backend, prompt, run: running.runOptions(turn.turnId) };
    const { exchange, continuity } = newTurnExchange(planning, conversations, turn, asked);
    const modelUid = turn.modelUid as ModelUid;
    const stages = [refusals.watch(modelUid), this.#noting(turn), ...watches, ...stagesOf(planning, turn)];
    const watched = backend.kind === "acp" ? exchange : refusals.asking(exchange, modelUid); // agents report no limits
    const gated = queue.gate(turn, watched);
    const open = async () => gated;
    const runner = new Runner({ writer, state: "created", open, stages, clock });
    const run = runner.begin();
    this.#unstored.set(runner, run);
    void run.then(() => this.#unstored.delete(runner));
    return { runner, continuity };
  }

  /** Notes which conversation the turn uses. */
  #noting({ request: { model }, client }: NewTurn): EventStage {
    return {
      push: (body) => {
        if (body.type === "started" && body.cascadeId !== undefined)
          this.#options.trajectoryNotes?.asked(body.cascadeId, { model, client });
        return [body];
      },
    };
  }

  /** From here the turn is stored, and continues even if the request fails. */
  begin(record: TurnRecord, { runner, continuity }: BegunRun, signal: AbortSignal): StartedTurn {
    const { readers, running, events } = this.#options;
    const { turnId, graceMs, degraded, expiresAtMs } = record;
    this.#unstored.delete(runner);
    this.#begun.add(turnId);
    readers.expect(turnId, signal);
    running.run(turnId, runner, graceMs);
    events.emit("turn_started", { turnId });
    return { turnId, record, joined: "no", continuity, degraded, expiresAtMs };
  }

  /** Waits until the conversations of turns that were not stored are cleaned up, for ten seconds at most. */
  async close(): Promise<void> {
    await within(Promise.all(this.#unstored.values()), cleanUpMs, this.#options.clock);
  }
}
