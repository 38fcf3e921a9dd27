import { within } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { JoinTurn } from "../turns.ts";

/** How long a request waits for the same one before it to be stored or given up, while that one's client is there; ms. */
const storingMs = 250;

/** A request that looks for its turn, or is about to store it. */
interface Start {
  /** Aborts when its client goes away. */
  readonly signal: AbortSignal;
  /** Resolves when it has its turn, or has failed. */
  readonly settled: Promise<void>;
}

/** The result of `StartsInFlight.enter`. */
export interface Entered {
  /** The same request, without a key, that began before it and has no turn yet. */
  readonly earlier: readonly Start[];
  /** Reports that the request has its turn, or has failed. */
  readonly leave: () => void;
}

/** Requests without a key in this process that have no stored turn yet, where their repetition could find it. */
export class StartsInFlight {
  readonly #clock: Clock;
  readonly #starts = new Map<string, Set<Start>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  enter({ caller, fingerprint, session, idempotencyKey }: JoinTurn, signal: AbortSignal): Entered {
    if (idempotencyKey !== undefined) return { earlier: [], leave: () => {} }; // the store keeps those apart
    const key = JSON.stringify([caller, fingerprint, session]);
    const starts = this.#starts.get(key) ?? new Set();
    const earlier = [...starts];
    const { promise: settled, resolve } = Promise.withResolvers<void>();
    const start = { signal, settled };
    this.#starts.set(key, starts.add(start));
    const leave = () => {
      starts.delete(start);
      if (starts.size === 0 && this.#starts.get(key) === starts) this.#starts.delete(key);
      resolve();
    };
    return { earlier, leave };
  }

  /**
   * Waits for earlier requests that this one repeats: for all of them if it is marked as a retry, else for those whose client
   * disconnects within a quarter of a second. Rejects with the signal's reason.
   */
  async untilStored(earlier: readonly Start[], { retry }: JoinTurn, signal: AbortSignal): Promise<void> {
    const left = aborted(signal);
    const all = Promise.all(earlier.map(({ settled }) => settled));
    if (retry !== true) await within(Promise.race([all, left]), storingMs, this.#clock);
    const repeated = earlier.filter((start) => retry === true || start.signal.aborted);
    await Promise.race([Promise.all(repeated.map(({ settled }) => settled)), left]);
    signal.throwIfAborted();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
