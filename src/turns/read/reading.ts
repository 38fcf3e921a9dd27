import { notNeeded } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventId, TurnId } from "../../base/ids.ts";
import type { TurnEvent } from "../../log/event.ts";
import type { OutlinedEvent } from "../../log/outline.ts";
import { readOutline, readTurn } from "../../log/read-turn.ts";
import type { Opening, TurnReading, TurnRecord } from "../../log/store.ts";
import { noteEveryMs, noteWhileReading } from "./note-while-reading.ts";
import type { Readers } from "./readers.ts";

/** The turns that this process runs, as far as reading knows them. */
export interface RunningTurnsRead {
  /** Aborts when the gateway stops, with the error for the readers. */
  readonly stopping: AbortSignal;
  isRunning(turnId: TurnId): boolean;
  /** How long a turn that runs here continues without a reader; a longer grace time stays. */
  extendGrace(turnId: TurnId, graceMs: number): void;
}

export interface ReadingOptions {
  readonly store: TurnReading;
  readonly clock: Clock;
  readonly owner: string;
  readonly ownerIsGone?: (owner: string) => boolean;
  readonly readers: Readers;
  readonly running: RunningTurnsRead;
}

/** Reads turns, and knows who reads which. */
export class Reading {
  readonly #options: ReadingOptions;
  readonly #store: TurnReading;
  readonly #clock: Clock;
  readonly #readers: Readers;
  readonly #running: RunningTurnsRead;

  constructor(options: ReadingOptions) {
    const { store, clock, readers, running } = options;
    this.#options = options;
    this.#store = store;
    this.#clock = clock;
    this.#readers = readers;
    this.#running = running;
  }

  /** As `Turns.read`; `opening` has the client's key of a turn that was sealed with one. */
  async *read(
    turnId: TurnId,
    after: EventId,
    signal: AbortSignal,
    opening: Opening = {},
  ): AsyncGenerator<TurnEvent, void> {
    const leave = this.#readers.enter(turnId);
    const reading = new AbortController();
    let noting: Promise<void> | undefined;
    try {
      await this.#store.noteReader(turnId, this.#clock.now());
      if (!this.#running.isRunning(turnId)) noting = noteWhileReading(this.#store, turnId, this.#clock, reading.signal);
      yield* this.follow(turnId, after, signal, opening);
      await this.#store.noteDelivered(turnId);
    } finally {
      leave();
      reading.abort(notNeeded);
      await noting;
      if (!this.#running.isRunning(turnId)) this.#readers.forget(turnId);
    }
  }

  follow(
    turnId: TurnId,
    after: EventId,
    signal: AbortSignal,
    { clientKey }: Opening = {},
  ): AsyncGenerator<TurnEvent, void> {
    return readTurn(this.#store, { turnId, after, clientKey }, this.#untilStopped(signal));
  }

  outline(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<OutlinedEvent, void> {
    return readOutline(this.#store, { turnId, after }, this.#untilStopped(signal));
  }

  /** Whether the turn has a reader, in this process or in another. Other processes note their readers every few seconds. */
  hasReader(record: TurnRecord): boolean {
    const { owner, ownerIsGone = () => false } = this.#options;
    if (this.#readers.has(record.turnId)) return true;
    if (record.owner === owner || ownerIsGone(record.owner)) return false;
    return record.attachedAtMs + noteEveryMs * 2 > this.#clock.now();
  }

  /** As `Turns.noteReader`. Rejects with the store's errors, but extends the grace of a turn that runs here first. */
  async noteReader(turnId: TurnId, graceMs: number | undefined): Promise<void> {
    if (graceMs !== undefined) this.#running.extendGrace(turnId, graceMs);
    await this.#store.noteReader(turnId, this.#clock.now(), graceMs);
  }

  /** As `Turns.noteReader`. */
  async noteReaderOf(record: TurnRecord, graceMs: number | undefined): Promise<TurnRecord> {
    try {
      await this.noteReader(record.turnId, graceMs);
      return (await this.#store.get(record.turnId)) ?? record;
    } catch {
      return record; // reading it will say what is wrong
    }
  }

  /** Aborts with the signal. If turns continue after a restart, also when the gateway stops. */
  #untilStopped(signal: AbortSignal): AbortSignal {
    return this.#store.capabilities.survivesRestart ? AbortSignal.any([signal, this.#running.stopping]) : signal;
  }
}
