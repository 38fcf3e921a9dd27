import { Notifier } from "../base/notifier.ts";

/** Wakes the callers that wait for a name. Keeps nothing for a name without waiting callers. */
export class Waiters<Name> {
  readonly #notifiers = new Map<Name, Notifier>();

  get size(): number {
    return this.#notifiers.size;
  }

  /** Resolves at the next `wake` of the name; rejects with the signal's reason. Registers before it returns. */
  async wait(name: Name, signal: AbortSignal): Promise<void> {
    const notifier = this.#notifiers.get(name) ?? new Notifier();
    this.#notifiers.set(name, notifier);
    try {
      await notifier.wait(signal);
    } finally {
      if (!notifier.isAwaited && this.#notifiers.get(name) === notifier) this.#notifiers.delete(name);
    }
  }

  wake(name: Name): void {
    const notifier = this.#notifiers.get(name);
    this.#notifiers.delete(name);
    notifier?.wake();
  }

  wakeAll(): void {
    for (const name of this.#notifiers.keys()) this.wake(name);
  }
}
