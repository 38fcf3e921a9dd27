import type { TurnId } from "../../base/ids.ts";
import type { LogStore } from "../store.ts";

/** How many are remembered. Older ones are forgotten: the same request then gets the answer once more. */
const most = 10_000;

/** Answers that were delivered while the store could not be written: a repeated request must not get them again. */
export class OwedDeliveries {
  readonly #turnIds = new Set<TurnId>();

  add(turnId: TurnId): void {
    this.#turnIds.add(turnId);
    const [oldest] = this.#turnIds;
    if (this.#turnIds.size > most && oldest !== undefined) this.#turnIds.delete(oldest);
  }

  has(turnId: TurnId): boolean {
    return this.#turnIds.has(turnId);
  }

  /** Notes the deliveries in the store. Throws the store's errors; the rest then stays owed. */
  async pay(store: Pick<LogStore, "noteDelivered">): Promise<void> {
    for (const turnId of this.#turnIds) {
      await store.noteDelivered(turnId);
      this.#turnIds.delete(turnId);
    }
  }
}
