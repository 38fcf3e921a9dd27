import { orAborted } from "./async.ts";

/**
 * One piece of work shared by everyone who asks for it while it runs. It is aborted when the last of them has left, so
 * that one caller's abort never costs another its answer.
 */
export class SharedCall<T> {
  #running: { readonly promise: Promise<T>; readonly stop: AbortController; callers: number } | undefined;

  /**
   * Joins the running work, or starts it.
   *
   * @throws the work's error, or the signal's reason as soon as it aborts.
   */
  async join(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const running = this.#running ?? this.#start(work);
    running.callers++;
    try {
      return await orAborted(running.promise, signal);
    } finally {
      running.callers--;
      if (running.callers === 0 && this.#running === running) {
        this.#running = undefined;
        running.stop.abort(signal.reason);
      }
    }
  }

  #start(work: (signal: AbortSignal) => Promise<T>) {
    const stop = new AbortController();
    const running = { promise: work(stop.signal), stop, callers: 0 };
    this.#running = running;
    const forget = () => {
      if (this.#running === running) this.#running = undefined;
    };
    running.promise.then(forget, forget); // also handles a failure that no caller waits for
    return running;
  }
}
