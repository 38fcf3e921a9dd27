import { bestEffort } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import type { EventSink } from "../base/emitter.ts";
import { isDegraded, MillraceError, toMillraceError } from "../base/errors.ts";
import { Notifier } from "../base/notifier.ts";
import type { Secret } from "../base/secret.ts";
import type { StoreLifecycle } from "./lifecycle.ts";
import { type Rows, type RowsAbilities, waitsForStore } from "./rows.ts";
import type { Retention } from "./store.ts";

/** How a log opens its medium, and what it keeps there. */
export interface LogOptions {
  /** Opens the medium, and the key that seals it; called again while it fails. Throws `degraded`. */
  readonly open: () => Promise<{ readonly rows: Rows; readonly gatewayKey: Secret }>;
  /** The abilities of the open medium. */
  readonly abilities: RowsAbilities;
  readonly clock: Clock;
  /** The home of this gateway: the first part of its turns' owner. Unset where no other home shares the store. */
  readonly home?: string;
  /** Unset: the default. */
  readonly retention?: Retention;
  readonly events?: EventSink<StoreLifecycle>;
}

/** How often a store that failed is tried again; ms. After so many tries those who wait for it are told. */
const tryEveryMs = 1_000;
const triesUntilTold = 5;

/** A store that may fail: whether it does now and why, and the look whether it works again. */
export class StoreHealth<Store> {
  readonly #options;
  readonly #closing = new AbortController();
  #store: Store | undefined;
  #degradedBy: MillraceError | undefined;
  #trying: Promise<void> | undefined;
  readonly #recoveries = new Notifier();
  #failing = new AbortController();

  constructor(options: {
    /** Opens the store; called again while it fails. Throws `degraded`. */
    readonly open: () => Promise<Store>;
    /** A write: a full disk is not well. Throws `degraded`. */
    readonly probe: (store: Store) => Promise<void>;
    readonly clock: Clock;
    readonly events?: EventSink<StoreLifecycle> | undefined;
  }) {
    this.#options = options;
  }

  /** Why the store failed last, while it does. */
  get degradedBy(): MillraceError | undefined {
    return this.#degradedBy;
  }

  /** Aborts once it has failed for some seconds, with the reason as `waitsForStore` tells it. */
  get failing(): AbortSignal {
    return this.#failing.signal;
  }

  /** Undefined while it is not open. */
  get opened(): Store | undefined {
    return this.#store;
  }

  /** Throws `degraded` while it is not open. */
  get store(): Store {
    if (this.#store !== undefined) return this.#store;
    throw this.#degradedBy ?? new MillraceError("degraded", "The log is not open.");
  }

  /** Resolves when a store that failed works again, the next time. Registers before it returns. */
  untilRecovered(signal: AbortSignal): Promise<void> {
    return this.#recoveries.wait(signal);
  }

  /** Never throws `degraded`: a store that cannot be opened is tried again. */
  async open(): Promise<void> {
    await this.orDegraded(() => this.#try());
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

  /** The result of the work. A failure of the store counts, and is thrown. */
  async orThrow<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (isDegraded(error)) this.degrade(error);
      throw error;
    }
  }

  /** From now on it fails, until a write succeeds again. */
  degrade(error: MillraceError): void {
    if (this.#degradedBy === undefined) this.#options.events?.emit("store_failed", { error });
    this.#degradedBy = error;
    if (!this.#closing.signal.aborted) this.#trying ??= this.#tryAgain();
  }

  /** The store stays as it is from now on. */
  async stop(): Promise<Store | undefined> {
    this.#closing.abort();
    await this.#trying;
    return this.#store;
  }

  async #try(): Promise<void> {
    const { open, probe } = this.#options;
    this.#store ??= await open();
    await probe(this.#store);
  }

  /** Tries the store again until it takes a write. A row of docs/dev/turn-machine.md. */
  async #tryAgain(): Promise<void> {
    const { signal } = this.#closing;
    const { clock, events } = this.#options;
    for (let tries = 1; !signal.aborted; tries++) {
      await bestEffort(clock.sleep(tryEveryMs, signal));
      if (signal.aborted) break;
      try {
        await this.#try();
        this.#degradedBy = undefined;
        if (this.#failing.signal.aborted) this.#failing = new AbortController();
        events?.emit("store_recovered", {});
        this.#recoveries.wake();
        break;
      } catch (error) {
        const why = toMillraceError(error);
        if (!isDegraded(error) && why.message !== this.#degradedBy?.message)
          events?.emit("store_failed", { error: why });
        this.#degradedBy = why;
        if (tries >= triesUntilTold) this.#failing.abort(waitsForStore(why));
      }
    }
    this.#trying = undefined;
  }
}
