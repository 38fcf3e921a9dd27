import type { Batch } from "../backends/backend.ts";
import { eventsOf } from "../backends/batches.ts";
import { type MillraceError, toMillraceError } from "../base/errors.ts";
import type { TurnEventBody } from "../log/event.ts";

/** What a pull on the backend's stream answered. */
export type Pulled =
  | { readonly type: "event"; readonly body: TurnEventBody }
  | { readonly type: "upstream_ended" }
  | { readonly type: "upstream_threw"; readonly error: MillraceError };

/** How many turns of the promise queue count as "at once": a few nested generators' worth, far less than any I/O. */
const promptTurns = 60;

async function aFewTurns(): Promise<undefined> {
  for (let i = 0; i < promptTurns; i++) await Promise.resolve();
}

/**
 * A backend's stream, pulled one event at a time and never past what was asked for: asking for the event after `started`
 * tells the backend that `started` is stored.
 */
export class Upstream {
  readonly #iterator: AsyncIterator<TurnEventBody>;
  #pending: Promise<Pulled> | undefined;

  constructor(batches: AsyncIterable<Batch>) {
    this.#iterator = eventsOf(batches);
  }

  /** The next event; the same promise until it was taken. Never rejects. */
  next(): Promise<Pulled> {
    this.#pending ??= this.#pull();
    return this.#pending;
  }

  /** Says that the answer of `next` was used, so that another may be asked for. */
  take(): void {
    this.#pending = undefined;
  }

  /** The next event if it is there without waiting, as when one poll answered several. */
  async nextAtOnce(): Promise<Pulled | undefined> {
    return Promise.race([this.next(), aFewTurns()]);
  }

  /** Lets the backend clean up: to its end when it ended by itself, else by closing it. Its events are dropped. */
  async close({ ended }: { readonly ended: boolean }): Promise<void> {
    if (ended) {
      for (let pulled = await this.next(); pulled.type === "event"; pulled = await this.next()) this.take();
      return;
    }
    await this.next();
    await this.#iterator.return?.();
  }

  async #pull(): Promise<Pulled> {
    try {
      const result = await this.#iterator.next();
      return result.done === true ? { type: "upstream_ended" } : { type: "event", body: result.value };
    } catch (error) {
      return { type: "upstream_threw", error: toMillraceError(error) };
    }
  }
}
