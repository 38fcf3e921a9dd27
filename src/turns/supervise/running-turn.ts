import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { TurnId } from "../../base/ids.ts";
import type { CancelledBy } from "../../log/event.ts";
import type { LogStore } from "../../log/store.ts";
import type { Attendance } from "../read/turn-readers.ts";
import type { Runner } from "../run/runner.ts";

export interface RunningTurnOptions {
  readonly turnId: TurnId;
  readonly runner: Runner;
  readonly attendance: Attendance;
  readonly graceMs: number;
  readonly store: LogStore;
  readonly clock: Clock;
  /** Names this process in the store. */
  readonly owner: string;
}

/** A turn that this process runs: its runner, and what may end it early (a cancel request, nobody reading). */
export class RunningTurn {
  /** Resolves when the runner is done and the backend has cleaned up. Rejects with what the log throws. */
  readonly done: Promise<void>;
  readonly #runner: Runner;
  readonly #attendance: Attendance;

  constructor({ turnId, runner, attendance, graceMs, store, clock, owner }: RunningTurnOptions) {
    this.#runner = runner;
    this.#attendance = attendance;
    attendance.lengthen(graceMs);
    const watching = new AbortController();
    let isElsewhere = false;
    const seenElsewhere = async () => {
      try {
        const record = await store.get(turnId);
        isElsewhere = record !== undefined && record.owner !== owner;
        if (record !== undefined && record.sealed !== true) attendance.lengthen(record.graceMs);
        return record?.attachedAtMs ?? clock.now();
      } catch {
        return 0; // a store that cannot be asked knows of nobody
      }
    };
    const cancel = (by: CancelledBy) => runner.stop({ type: "cancel", by });
    const abandon = async () => {
      if (isElsewhere) return runner.stop({ type: "detach" }); // who runs it now knows who reads it
      await bestEffort(store.requestCancel(turnId, "abandoned")); // stored first: a crash from here on does not undo it
      cancel("abandoned");
    };
    // both end with the run; a store that cannot be asked only costs what other processes would have told
    const watches = [
      bestEffort(store.untilCancelRequested(turnId, watching.signal).then(cancel)),
      bestEffort(attendance.untilAbandoned(seenElsewhere, watching.signal).then(abandon)),
    ];
    void runner.over.then(() => watching.abort());
    this.done = (async () => {
      try {
        await runner.run();
      } finally {
        await Promise.all(watches);
      }
    })();
  }

  /** Somebody who reads it asks for this grace time: that or what it has, whichever is longer. */
  lengthen(graceMs: number): void {
    this.#attendance.lengthen(graceMs);
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
