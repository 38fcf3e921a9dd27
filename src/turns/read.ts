import type { EventId, TurnId } from "../base/ids.ts";
import type { OutlinedEvent, TurnEvent } from "../log/event.ts";
import { eachOf, type NextEvents, readOutline, readTurn } from "../log/read-turn.ts";
import type { LogStore, ReadRight } from "../log/store.ts";
import type { Readers } from "./readers.ts";
import type { TurnReader } from "./turns.ts";

/** Reads turns. `stopping` aborts when the gateway stops. */
export class TurnAccess {
  readonly #store: LogStore;
  readonly #readers: Readers;
  readonly #stopping: AbortSignal;

  constructor(store: LogStore, readers: Readers, stopping: AbortSignal) {
    this.#store = store;
    this.#readers = readers;
    this.#stopping = stopping;
  }

  /** As `Turns.open`; `opening` has the client's key of a turn that was sealed with one. */
  open(turnId: TurnId, after: EventId, signal: AbortSignal, opening: ReadRight = {}): TurnReader {
    const leave = this.#readers.enter(turnId);
    let isClosed = false;
    return {
      next: this.look(turnId, after, signal, opening),
      close: async (isDelivered) => {
        if (isClosed) return;
        isClosed = true;
        try {
          if (isDelivered) await this.#store.noteDelivered(turnId);
        } finally {
          leave();
        }
      },
    };
  }

  /** As `Turns.read`; `opening` as for `open`. */
  async *read(
    turnId: TurnId,
    after: EventId,
    signal: AbortSignal,
    opening?: ReadRight,
  ): AsyncGenerator<TurnEvent, void> {
    const reader = this.open(turnId, after, signal, opening);
    let isDelivered = false;
    try {
      yield* eachOf(reader.next);
      isDelivered = true;
    } finally {
      await reader.close(isDelivered);
    }
  }

  /** As `Turns.look`; `opening` as for `open`. */
  look(turnId: TurnId, after: EventId, signal: AbortSignal, { clientKey }: ReadRight = {}): NextEvents {
    return readTurn(this.#store, { turnId, after, clientKey }, this.#untilStopped(signal));
  }

  /** As `Turns.follow`; `opening` as for `open`. */
  follow(turnId: TurnId, after: EventId, signal: AbortSignal, opening?: ReadRight): AsyncGenerator<TurnEvent, void> {
    return eachOf(this.look(turnId, after, signal, opening));
  }

  /** As `Turns.outline`. */
  outline(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<OutlinedEvent, void> {
    return eachOf(readOutline(this.#store, { turnId, after }, this.#untilStopped(signal)));
  }

  /** Aborts with the signal. If turns continue after a restart, also when the gateway stops. */
  #untilStopped(signal: AbortSignal): AbortSignal {
    return this.#store.capabilities.survivesRestart ? AbortSignal.any([signal, this.#stopping]) : signal;
  }
}
