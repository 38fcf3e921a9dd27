import { bestEffort, notNeeded } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { TurnId } from "../../base/ids.ts";
import type { CancelledBy } from "../../log/event.ts";
import type { TurnReading, TurnWriting } from "../../log/store.ts";
import type { TurnReaders } from "../read/turn-readers.ts";
import type { Runner } from "../run/runner.ts";

export interface RunningTurnOptions {
  readonly turnId: TurnId;
  readonly runner: Runner;
  readonly readers: TurnReaders;
  readonly graceMs: number;
  readonly store: TurnWriting & TurnReading;
  readonly clock: Clock;
  /** Names this process in the store. */
  readonly owner: string;
}

/** A turn that this process runs: its runner, and the two causes of an early end (a cancel request, a grace time without a reader). */
export class RunningTurn {
  /** Resolves when the runner is done and the backend has cleaned up. Rejects with the log's errors. */
  readonly done: Promise<void>;
  readonly #runner: Runner;
  readonly #readers: TurnReaders;

  constructor({ turnId, runner, readers, graceMs, store, clock, owner }: RunningTurnOptions) {
    this.#runner = runner;
    this.#readers = readers;
    readers.extendGrace(graceMs);
    const watching = new AbortController();
    let isElsewhere = false;
    const seenElsewhere = async () => {
      try {
        const record = await store.get(turnId);
        isElsewhere = record !== undefined && record.owner !== owner;
        if (record !== undefined && record.sealed !== true) readers.extendGrace(record.graceMs);
        return record?.attachedAtMs ?? clock.now();
      } catch {
        return 0; // a store that fails knows of no reader
      }
    };
    const cancel = (by: CancelledBy) => runner.stop({ type: "cancel", by });
    const abandon = async () => {
      if (isElsewhere) return runner.stop({ type: "detach" }); // the process that runs it now knows its readers
      await bestEffort(store.requestCancel(turnId, "abandoned")); // stored first: a crash from here on does not undo it
      cancel("abandoned");
    };
    // both end with the run; if the store fails, only news from other processes is missed
    const watches = [
      bestEffort(store.untilCancelRequested(turnId, watching.signal).then(cancel)),
      bestEffort(readers.untilAbandoned(seenElsewhere, watching.signal).then(abandon)),
    ];
    void runner.over.then(() => watching.abort(notNeeded));
    this.done = (async () => {
      try {
        await runner.run();
      } finally {
        await Promise.all(watches);
      }
    })();
  }

  /** A reader asks for this grace time; the turn keeps a longer one. */
  extendGrace(graceMs: number): void {
    this.#readers.extendGrace(graceMs);
  }

  /** Resolves when the turn has ended, not when the backend has cleaned up. */
  async cancel(by: CancelledBy): Promise<void> {
    this.#runner.stop({ type: "cancel", by });
    await this.#runner.over;
  }

  detach(): void {
    this.#runner.stop({ type: "detach" });
  }
}
