import { within } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { LogWriter } from "../../log/store.ts";
import type { EventStage } from "../run/event-stage.ts";
import type { Launcher, PreparedRun, PreparedTurn } from "./launcher.ts";

/** How long a stop waits for the clean-up of turns that were begun upstream but not stored; ms. */
const cleanUpMs = 10_000;

/** Runs that have begun upstream and whose turn is not stored: until it is, or until they have cleaned up. */
export class UnstoredRuns {
  readonly #runs = new Set<Promise<void>>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * A conversation is started while the turn is being stored. No prompt is sent before `started` is stored, and that waits for
   * `writer`. Where `writer` rejects, what was begun is cancelled.
   */
  begin(
    launcher: Launcher,
    prepared: PreparedTurn,
    writer: Promise<LogWriter>,
    watches: readonly EventStage[],
  ): PreparedRun & { stored(): void } {
    const launch = launcher.launch(prepared, writer, watches);
    const run = launch.runner.begin();
    this.#runs.add(run);
    const stored = () => void this.#runs.delete(run);
    void run.then(stored);
    return { ...launch, stored };
  }

  /** Waits until what was begun for turns that were not stored is cleaned up, for ten seconds at most. */
  async close(): Promise<void> {
    await within(Promise.all(this.#runs), cleanUpMs, this.#clock);
  }
}
