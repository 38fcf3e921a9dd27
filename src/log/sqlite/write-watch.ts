import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { Waiters } from "../medium/waiters.ts";

export interface WriteWatchOptions {
  readonly clock: Clock;
  /** Another value after each write of another connection. May throw while the file cannot be read. */
  readonly dataVersion: () => unknown;
  /** How often to look for other connections' writes while a caller waits; ms. */
  readonly everyMs: number;
}

/** Wakes the callers that wait for a change: at once after a write of this process, and soon after one of another process. */
export class WriteWatch {
  readonly #options: WriteWatchOptions;
  readonly #waiters = new Waiters<string>();
  readonly #closing = new AbortController();
  #looking: Promise<void> | undefined;

  constructor(options: WriteWatchOptions) {
    this.#options = options;
  }

  /** Resolves at the next `wake` of the name, or after any write of another process. Rejects with the signal's reason. */
  wait(name: string, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiters.wait(name, AbortSignal.any([signal, this.#closing.signal]));
    this.#looking ??= this.#look();
    return waiting;
  }

  wake(name: string): void {
    this.#waiters.wake(name);
  }

  wakeAll(): void {
    this.#waiters.wakeAll();
  }

  /** Every waiting caller is rejected. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the log was closed"));
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { clock, everyMs } = this.#options;
    let seen = this.#version();
    while (this.#waiters.size > 0 && !this.#closing.signal.aborted) {
      await bestEffort(clock.sleep(everyMs, this.#closing.signal));
      if (this.#closing.signal.aborted) break;
      const now = this.#version();
      if (now !== seen) this.#waiters.wakeAll();
      seen = now;
    }
    this.#looking = undefined;
  }

  /** While the file cannot be read, the next write counts as another one. */
  #version(): unknown {
    try {
      return this.#options.dataVersion();
    } catch {
      return undefined;
    }
  }
}
