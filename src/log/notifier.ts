/** Wakes all who wait for the next change of one thing. */
export class Notifier {
  #waiting = new Set<() => void>();

  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Resolves at the next `wake`; rejects with the signal's reason. Registers before it returns. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error); // passed on as the aborter gave it
        return;
      }
      const onAbort = () => {
        this.#waiting.delete(wake);
        reject(signal.reason as Error); // as above
      };
      const wake = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  wake(): void {
    if (this.#waiting.size === 0) return;
    const woken = this.#waiting;
    this.#waiting = new Set();
    for (const wake of woken) wake();
  }
}
