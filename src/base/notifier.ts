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

/** Wakes the callers that wait for a name. Keeps nothing for a name without waiting callers. */
export class Waiters<Name> {
  readonly #notifiers = new Map<Name, Notifier>();

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
