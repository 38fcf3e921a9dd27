/** Wakes those who wait for something to happen under a name. Holds nothing for names that nobody waits for. */
export class Waiters<Name> {
  readonly #waiting = new Map<Name, Set<() => void>>();

  get size(): number {
    return this.#waiting.size;
  }

  names(): readonly Name[] {
    return [...this.#waiting.keys()];
  }

  /** Resolves at the next `wake` of the name; rejects with the signal's reason. Registers before it returns. */
  wait(name: Name, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error); // passed on as the aborter gave it
        return;
      }
      const set = this.#waiting.get(name) ?? new Set();
      this.#waiting.set(name, set);
      const leave = () => {
        set.delete(wake);
        if (set.size === 0 && this.#waiting.get(name) === set) this.#waiting.delete(name);
        signal.removeEventListener("abort", onAbort);
      };
      const wake = () => {
        leave();
        resolve();
      };
      const onAbort = () => {
        leave();
        reject(signal.reason as Error); // as above
      };
      set.add(wake);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  wake(name: Name): void {
    for (const wake of this.#waiting.get(name) ?? []) wake();
  }

  wakeAll(): void {
    for (const name of this.names()) this.wake(name);
  }
}
