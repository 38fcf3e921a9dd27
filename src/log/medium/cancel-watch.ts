import { bestEffort } from "../../base/async.ts";
import type { TurnId } from "../../base/ids.ts";
import { waitFor } from "../../base/wait.ts";
import type { CancelledBy } from "../event.ts";
import type { LogMedium } from "./medium.ts";

interface Waiting {
  readonly resolve: (by: CancelledBy) => void;
  readonly reject: (error: unknown) => void;
}

/** Passes cancel requests on to running turns: one look at the medium for all of them. */
export class CancelWatch {
  readonly #medium: Pick<LogMedium, "cancelRequests" | "untilCancelRequested">;
  readonly #waiting = new Map<TurnId, Set<Waiting>>();
  #stop: AbortController | undefined;
  #isLookingSoon = false;

  constructor(medium: Pick<LogMedium, "cancelRequests" | "untilCancelRequested">) {
    this.#medium = medium;
  }

  /** Resolves once a cancel is requested. Rejects with the signal's reason and with the medium's errors. Registers before it returns. */
  wait(turnId: TurnId, signal: AbortSignal): Promise<CancelledBy> {
    return waitFor(signal, (resolve, reject) => {
      const waiting: Waiting = {
        resolve: (by) => {
          leave();
          resolve(by);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      const leave = () => {
        const set = this.#waiting.get(turnId);
        set?.delete(waiting);
        if (set?.size === 0) this.#waiting.delete(turnId);
        if (this.#waiting.size > 0) return;
        this.#stop?.abort(nobodyWaits);
        this.#stop = undefined;
      };
      this.#waiting.set(turnId, (this.#waiting.get(turnId) ?? new Set()).add(waiting));
      if (this.#stop === undefined) {
        this.#stop = new AbortController();
        void this.#watch(this.#stop.signal);
      } else this.#lookSoon(this.#stop.signal);
      return leave;
    });
  }

  /** One look for all turns that begin to wait in this turn of the event loop: a cancel may have been requested before. */
  #lookSoon(signal: AbortSignal): void {
    if (this.#isLookingSoon) return;
    this.#isLookingSoon = true;
    setImmediate(() => {
      this.#isLookingSoon = false;
      void this.#look(signal);
    });
  }

  /** Runs until no caller waits. */
  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#medium.untilCancelRequested(signal); // from here on: a request in between is not missed
      void bestEffort(next);
      await this.#look(signal, next);
    }
  }

  /** Tells the turns whose cancel was requested, and waits for `next`. An error of the medium rejects all waiting callers. */
  async #look(signal: AbortSignal, next?: Promise<void>): Promise<void> {
    try {
      for (const [turnId, by] of await this.#medium.cancelRequests())
        this.#waiting.get(turnId)?.forEach((waiting) => waiting.resolve(by)); // each leaves the set when it resolves
      await next;
    } catch (error) {
      if (signal.aborted) return;
      for (const waiting of [...this.#waiting.values()].flatMap((set) => [...set])) waiting.reject(error);
    }
  }
}

/** Why the look ends; one for all, since a reason made anew each time captures a stack. */
const nobodyWaits = new Error("no turn waits");
