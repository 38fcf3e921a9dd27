import { isDegraded } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import type { Secret } from "../../base/secret.ts";
import { bodyOf, isTerminal, type TurnEvent, type TurnEventBody } from "../event.ts";
import { seqOf } from "../event-id.ts";
import type { Appended, LogStore, LogWriter, NewTurn } from "../store.ts";

interface Kept {
  readonly body: TurnEventBody;
  readonly atMs: number;
}

export interface FallbackWriterOptions {
  readonly turn: NewTurn;
  readonly owner: string;
  /** Where the turn is written now; its other home is `memory`. */
  readonly writer: LogWriter;
  readonly inMemory: boolean;
  readonly clientKey: Secret | undefined;
  /** What the log held before this writer's first append. */
  readonly readAll: () => Promise<readonly TurnEvent[]>;
  readonly memory: LogStore;
  /** Throws `degraded` while there is none. */
  readonly primary: () => LogStore;
  /** Called when the turn has moved into memory, or back. */
  readonly onMoved: (inMemory: boolean, cause: unknown) => void;
  /** Called with a turn that is back in the store, where memory knows that it was delivered. Never throws `degraded`. */
  readonly onDelivered: () => Promise<void>;
  /** Called when the terminal event is written. */
  readonly onEnded: () => void;
}

/**
 * Writes one turn to the store as long as it takes it, and to memory when it does not: with all its events, so that
 * readers find the whole turn there, under the same ids. `heal` brings it back.
 */
export class FallbackWriter implements LogWriter {
  readonly turnId: TurnId;
  readonly #options: FallbackWriterOptions;
  readonly #kept: Kept[] = [];
  #readBefore = false;
  #writer: LogWriter;
  #inMemory: boolean;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(options: FallbackWriterOptions) {
    this.turnId = options.turn.turnId;
    this.#options = options;
    this.#writer = options.writer;
    this.#inMemory = options.inMemory;
  }

  get epoch(): number {
    return this.#writer.epoch;
  }

  get inMemory(): boolean {
    return this.#inMemory;
  }

  /** Whether the terminal event is written. */
  get ended(): boolean {
    const last = this.#kept.at(-1);
    return last !== undefined && isTerminal(last.body);
  }

  append(bodies: readonly TurnEventBody[], atMs: number): Promise<Appended> {
    return this.#inTurn(() => this.#append(bodies, atMs));
  }

  /** Moves the turn into memory, because its store cannot be read. */
  retreat(cause: unknown): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#inMemory) await this.#moveToMemory(cause);
    });
  }

  /** Moves the turn back into the store, if it is in memory and the store takes it. Throws `degraded` if not. */
  heal(): Promise<void> {
    return this.#inTurn(() => this.#heal());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work);
    this.#tail = done.catch(() => undefined); // whoever asked hears of it; the next one starts afresh
    return done;
  }

  /** Once, while the store can still be read: what it cannot say later must be kept now. */
  async #readWhatWasThere(): Promise<void> {
    if (this.#readBefore) return;
    const events = await this.#options.readAll();
    this.#readBefore = true;
    this.#kept.unshift(...events.map((event) => ({ body: bodyOf(event), atMs: event.atMs })));
  }

  async #append(bodies: readonly TurnEventBody[], atMs: number): Promise<Appended> {
    try {
      await this.#readWhatWasThere();
      return this.#keep(await this.#writer.append(bodies, atMs), bodies, atMs);
    } catch (error) {
      if (this.#inMemory || !isDegraded(error)) throw error;
      await this.#moveToMemory(error);
      return this.#keep(await this.#writer.append(bodies, atMs), bodies, atMs);
    }
  }

  #keep(appended: Appended, bodies: readonly TurnEventBody[], atMs: number): Appended {
    if (appended.outcome !== "appended") return appended;
    this.#kept.push(...bodies.map((body) => ({ body, atMs })));
    if (this.ended) this.#options.onEnded();
    return appended;
  }

  async #moveToMemory(cause: unknown): Promise<void> {
    const { memory, turn, owner, clientKey, onMoved } = this.#options;
    await memory.remove(turn.turnId);
    const { writer } = await memory.create(turn, owner, clientKey);
    if (writer === undefined) throw cause; // memory holds this key for another turn
    for (const { body, atMs } of this.#kept) await writer.append([body], atMs);
    this.#writer = writer;
    this.#inMemory = true;
    onMoved(true, cause);
  }

  async #heal(): Promise<void> {
    if (!this.#inMemory) return;
    const { primary, memory, turn, owner, clientKey, onMoved, onDelivered } = this.#options;
    const store = primary();
    const held = await store.get(turn.turnId, { clientKey }); // a write whose answer was lost may have arrived: the store says how far
    const created = held === undefined ? await store.create(turn, owner, clientKey) : undefined;
    if (created !== undefined && created.record.turnId !== turn.turnId) return; // its key was used: memory keeps it
    const writer = created?.writer ?? (await store.claim(turn.turnId, owner))?.writer;
    if (writer !== undefined) {
      const stored = held === undefined ? 0 : seqOf(held.lastEventId);
      for (const { body, atMs } of this.#kept.slice(stored)) {
        if ((await writer.append([body], atMs)).outcome !== "appended") return;
      }
      this.#writer = writer;
    }
    this.#inMemory = false;
    onMoved(false, undefined);
    const known = await memory.get(turn.turnId, { clientKey }).catch(() => undefined); // expired: nobody is given it again
    if (known?.delivered === true) await onDelivered();
    await memory.remove(turn.turnId);
  }
}
