import type { Clock } from "../base/clock.ts";
import { SharedCall } from "../base/shared-call.ts";

/** A list from another program: kept for a while, and fetched once for all callers that wait. */
export class KeptList<T> {
  readonly #ask: (signal: AbortSignal) => Promise<T>;
  readonly #clock: Clock;
  readonly #call = new SharedCall<T>();
  #taken: { readonly list: T; readonly atMs: number } | undefined;

  constructor(ask: (signal: AbortSignal) => Promise<T>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** As it was read last; undefined before that. */
  get last(): T | undefined {
    return this.#taken?.list;
  }

  /** Throws the error of asking. */
  async read(maxAgeMs: number, signal: AbortSignal): Promise<T> {
    const taken = this.#taken;
    if (taken !== undefined && this.#clock.monotonic() - taken.atMs < maxAgeMs) return taken.list;
    return this.#call.join(async (shared) => {
      const list = await this.#ask(shared);
      this.#taken = { list, atMs: this.#clock.monotonic() };
      return list;
    }, signal);
  }
}
