import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import { isDegraded, MillraceError, toMillraceError } from "../../base/errors.ts";
import type { StoreLifecycle } from "../lifecycle.ts";
import type { LogStore } from "../store.ts";

/** How often a store that failed is tried again; ms. */
const healEveryMs = 1_000;

/** The owner under which a store is tried whether it takes writes. It writes nothing else. */
export const probeOwner = "probe";

export interface StoreHealthOptions {
  /** Opens the store; called again while it fails. Throws `degraded`. */
  readonly open: () => Promise<LogStore>;
  readonly clock: Clock;
  readonly events?: EventSink<StoreLifecycle> | undefined;
  /** Gives a store that takes writes again the events that it lacks. Throws `degraded` if it fails once more. */
  readonly bringBack: (store: LogStore) => Promise<void>;
}

/** A store that may fail: whether it does now and why, and the work of making it well again. */
export class StoreHealth {
  readonly #options: StoreHealthOptions;
  readonly #closing = new AbortController();
  #store: LogStore | undefined;
  #degradedBy: MillraceError | undefined;
  #healing: Promise<void> | undefined;

  constructor(options: StoreHealthOptions) {
    this.#options = options;
  }

  /** Why the store failed last, while it does. */
  get degradedBy(): MillraceError | undefined {
    return this.#degradedBy;
  }

  /** Throws `degraded` while it is not open. */
  get store(): LogStore {
    if (this.#store !== undefined) return this.#store;
    throw this.why();
  }

  /** The error to throw when the store is needed and fails. */
  why(): MillraceError {
    return this.#degradedBy ?? new MillraceError("degraded", "The log is not open.");
  }

  /** Never throws: a store that cannot be opened is tried again. */
  async tryOpen(): Promise<void> {
    await this.orDegraded(async () => {
      this.#store ??= await this.#options.open();
      await this.#store.renewOwner(probeOwner, this.#options.clock.now()); // what can only be read fails from the start
    });
  }

  /** The result of the work, or undefined while the store fails. Other errors pass. */
  async orDegraded<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!isDegraded(error)) throw error;
      this.degrade(error);
      return undefined;
    }
  }

  /** From now on it fails, until it is healed. */
  degrade(error: MillraceError): void {
    if (this.#degradedBy === undefined) this.#options.events?.emit("store_failed", { error });
    this.#degradedBy = error;
    if (!this.#closing.signal.aborted) this.#healing ??= this.#heal();
  }

  /** Gives up healing. The store stays open until `closeStore`, for calls that still wait. */
  async stop(): Promise<void> {
    this.#closing.abort();
    await this.#healing;
  }

  async closeStore(): Promise<void> {
    await this.#store?.close();
  }

  /** Tries the store again until it takes everything that it lacks. A row of docs/retries.md. */
  async #heal(): Promise<void> {
    const { signal } = this.#closing;
    const { clock, open, bringBack, events } = this.#options;
    while (!signal.aborted) {
      await bestEffort(clock.sleep(healEveryMs, signal));
      if (signal.aborted) break;
      try {
        this.#store ??= await open();
        await this.#store.renewOwner(probeOwner, clock.now()); // a write: a full disk is not well
        await bringBack(this.#store);
        this.#degradedBy = undefined;
        events?.emit("store_recovered", {});
        break;
      } catch (error) {
        if (!isDegraded(error)) events?.emit("store_failed", { error: toMillraceError(error) });
      }
    }
    this.#healing = undefined;
  }
}
