import { bestEffort, notNeeded } from "../base/async.ts";
import type { EventId, TurnId } from "../base/ids.ts";
import type { OutlinedEvent, TurnEvent } from "../log/event.ts";
import { eachOf, type NextEvents, readOutline, readTurn } from "../log/read-turn.ts";
import type { ReadRight, TurnLabel, TurnRecord } from "../log/store.ts";
import type { TurnsOptions } from "./options.ts";
import type { ReaderRegistry } from "./readers.ts";
import type { RunningTurns } from "./running-turns.ts";
import type { TurnReader } from "./turns.ts";

/** How often a reader renews its presence, so that the process that runs the turn elsewhere knows of it; ms. */
const noteEveryMs = 5_000;

interface Parts extends Pick<TurnsOptions, "store" | "clock" | "owner" | "ownerIsGone"> {
  readonly readers: ReaderRegistry;
  readonly running: Pick<RunningTurns, "has" | "extendGrace" | "stopping">;
}

/** Reads turns, and tells whether a turn has a reader. */
export class TurnAccess {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** As `Turns.open`; `opening` has the client's key of a turn that was sealed with one. */
  open(turnId: TurnId, after: EventId, signal: AbortSignal, opening: ReadRight = {}): TurnReader {
    const { store, readers, running } = this.#parts;
    const leave = readers.enter(turnId);
    const reading = new AbortController();
    const noting = this.#noteWhileReading(turnId, reading.signal);
    let isClosed = false;
    return {
      next: this.look(turnId, after, signal, opening),
      async close(isDelivered) {
        if (isClosed) return;
        isClosed = true;
        try {
          if (isDelivered) await store.noteDelivered(turnId);
        } finally {
          leave();
          reading.abort(notNeeded);
          await noting;
          if (!running.has(turnId)) readers.forget(turnId);
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
    return readTurn(this.#parts.store, { turnId, after, clientKey }, this.#untilStopped(signal));
  }

  /** As `Turns.follow`; `opening` as for `open`. */
  follow(turnId: TurnId, after: EventId, signal: AbortSignal, opening?: ReadRight): AsyncGenerator<TurnEvent, void> {
    return eachOf(this.look(turnId, after, signal, opening));
  }

  /** As `Turns.outline`. */
  outline(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<OutlinedEvent, void> {
    return eachOf(readOutline(this.#parts.store, { turnId, after }, this.#untilStopped(signal)));
  }

  /** Whether the turn has a reader, in this process or in another. Other processes note their readers every few seconds. */
  hasReader(record: TurnLabel): boolean {
    const { owner, ownerIsGone = () => false, readers, clock } = this.#parts;
    if (readers.has(record.turnId)) return true;
    if (record.owner === owner || ownerIsGone(record.owner)) return false;
    return record.attachedAtMs + noteEveryMs * 2 > clock.now();
  }

  /** As `Turns.noteReader`. Rejects with the store's errors, but extends the grace of a turn that runs here first. */
  async noteReader(turnId: TurnId, graceMs: number | undefined): Promise<void> {
    const { store, clock, running } = this.#parts;
    if (graceMs !== undefined) running.extendGrace(turnId, graceMs);
    await store.noteReader(turnId, clock.now(), graceMs);
  }

  /** As `Turns.noteReader`. */
  async noteReaderOf(record: TurnRecord, graceMs: number | undefined): Promise<TurnRecord> {
    try {
      await this.noteReader(record.turnId, graceMs);
      return (await this.#parts.store.get(record.turnId)) ?? record;
    } catch {
      return record; // reading it will say what is wrong
    }
  }

  /**
   * Notes a reader, and again until the signal aborts where another process runs the turn. Never rejects: if the store fails, the turn
   * only loses grace time, and reading it says what is wrong.
   */
  async #noteWhileReading(turnId: TurnId, signal: AbortSignal): Promise<void> {
    const { store, clock, running } = this.#parts;
    for (;;) {
      await bestEffort(store.noteReader(turnId, clock.now()));
      if (running.has(turnId)) return;
      try {
        await clock.sleep(noteEveryMs, signal);
      } catch {
        return; // the reader left
      }
    }
  }

  /** Aborts with the signal. If turns continue after a restart, also when the gateway stops. */
  #untilStopped(signal: AbortSignal): AbortSignal {
    const { store, running } = this.#parts;
    return store.capabilities.survivesRestart ? AbortSignal.any([signal, running.stopping]) : signal;
  }
}
