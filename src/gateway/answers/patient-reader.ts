import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { TurnEvent } from "../../log/event.ts";
import { Patience } from "./patience.ts";

/** The next event of a turn, or that none came in time, or that the log had no more. */
export type NextReading =
  | { readonly type: "event"; readonly event: TurnEvent }
  | { readonly type: "silence" }
  | { readonly type: "ended" };

export interface ReaderOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Finds out whether the client has read the bytes that the operating system took. Without it, those bytes count as delivered. */
  readonly handOver?: (() => Promise<void>) | undefined;
  /** An event as its client is told of it; unchanged by default. */
  readonly tell?: (event: TurnEvent) => TurnEvent;
}

/**
 * Reads a turn with a limit on patience: a read that takes too long is not given up, the next call waits for the same
 * one. So nothing is lost, and at most one event is ever held.
 */
export class PatientReader {
  readonly #events: AsyncGenerator<TurnEvent, void>;
  readonly #options: ReaderOptions;
  readonly #onAbort = () => void this.close(); // close never throws
  readonly #patience: Patience;
  #pending: Promise<IteratorResult<TurnEvent, void>> | undefined;

  /** Closes itself when the signal aborts, also without a further call. */
  constructor(events: AsyncGenerator<TurnEvent, void>, options: ReaderOptions) {
    this.#events = events;
    this.#options = options;
    this.#patience = new Patience(options.clock);
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Waits up to `ms`; `Infinity` waits without a limit. Throws what reading the log throws. */
  async next(ms: number): Promise<NextReading> {
    this.#pending ??= this.#events.next();
    if (ms === Number.POSITIVE_INFINITY) return this.#take(await this.#pending);
    const pending = this.#pending;
    return new Promise((resolve, reject) => {
      pending.then((result) => resolve(this.#take(result)), reject);
      this.#patience.wait(ms, () => resolve({ type: "silence" }));
    });
  }

  #take(result: IteratorResult<TurnEvent, void>): NextReading {
    this.#pending = undefined;
    if (result.done === true) return { type: "ended" };
    const { tell } = this.#options;
    return { type: "event", event: tell === undefined ? result.value : tell(result.value) };
  }

  /**
   * Reports that everything read so far was delivered: a turn whose terminal event was delivered is never replayed to the next
   * identical request. Call it after the terminal event, once the client has taken it.
   */
  async delivered(): Promise<void> {
    await bestEffort(this.#pending ?? this.#events.next());
    this.#pending = undefined;
    this.#letGo();
  }

  /** Reports that the operating system has taken everything read so far. Call it after the terminal event. */
  async handedOver(): Promise<void> {
    const { handOver } = this.#options;
    if (handOver === undefined) return this.delivered();
    await this.close();
    await handOver();
  }

  /** Frees the log's reader; never throws, and does nothing the second time. Abort the signal first where a read may be pending. */
  async close(): Promise<void> {
    if (this.#pending !== undefined) await bestEffort(this.#pending);
    await bestEffort(this.#events.return());
    this.#letGo();
  }

  /** Node keeps a combined signal with a listener until one of its sources aborts, and the prompt and answer with it. */
  #letGo(): void {
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#patience.end();
  }
}
