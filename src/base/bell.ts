import { Notifier } from "./notifier.ts";

/** Wakes the one who waits, or, rung before, lets the next wait pass at once. */
export class Bell {
  #rung = false;
  readonly #waiting = new Notifier();

  ring(): void {
    this.#rung = true;
    this.#waiting.wake();
  }

  /** Resolves once it was rung since the last wait; rejects with the signal's reason. One waiter at a time. */
  async wait(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!this.#rung) await this.#waiting.wait(signal);
    this.#rung = false;
  }
}
