import { waitFor } from "./wait.ts";

/** Wakes all who wait for the next change of one thing. */
export class Notifier {
  #waiting = new Set<() => void>();

  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Resolves at the next `wake`; rejects with the reason of the signal, where there is one. Registers before it returns. */
  wait(signal?: AbortSignal): Promise<void> {
    return waitFor(signal, (wake) => {
      this.#waiting.add(wake);
      return () => this.#waiting.delete(wake);
    });
  }

  wake(): void {
    if (this.#waiting.size === 0) return;
    const woken = this.#waiting;
    this.#waiting = new Set();
    for (const wake of woken) wake();
  }
}
