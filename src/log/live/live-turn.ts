import type { Clock } from "../../base/clock.ts";
import { isDegraded, type MillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import { Notifier } from "../../base/notifier.ts";
import type { Secret } from "../../base/secret.ts";
import { bodyOf, isTerminal, type TerminalEventType, type TurnEvent, type TurnEventBody } from "../event.ts";
import { seqOf } from "../event-id.ts";
import { type Opened, pastTheEnd } from "../medium/read-page.ts";
import type { Retention } from "../retention.ts";
import type { Appended, LogStore, LogWriter, NewTurn } from "../store.ts";
import { LiveEvents } from "./live-events.ts";
import { UnstoredRecord } from "./unstored-record.ts";

export interface LiveTurnOptions {
  readonly turn: NewTurn;
  readonly owner: string;
  /** The key that opens the turn, if this process created it; `claimed` if only the store can check a key. */
  readonly opening: { readonly clientKey: Secret | undefined } | "claimed";
  /** Appends to the store; undefined where the store holds nothing of the turn. */
  readonly writer: LogWriter | undefined;
  /** How many events the store held when this process took the turn. */
  readonly storedSeq: number;
  readonly epoch: number;
  readonly clock: Clock;
  readonly retention: Retention;
  /** Called when the store did not take an append, so that memory alone has it. */
  readonly onUnstored: (error: MillraceError) => void;
  /** Called when the turn has ended and the store holds all of it. */
  readonly onEnded: () => void;
  /** Called when another process writes the turn now, or it was removed. */
  readonly onLost: () => void;
}

/** Most events of one append while a turn goes back into its store. */
const healBatch = 256;

/**
 * A turn that this process writes. Holds its events for the readers in this process, hands them to the store, and keeps those that
 * the store did not take until it does. An event is shown once the store has it, or has refused it.
 */
export class LiveTurn {
  readonly turn: NewTurn;
  /** The facts of the turn beside its events, for when the store cannot give them. */
  readonly record: UnstoredRecord;
  readonly #events: LiveEvents;
  readonly #options: LiveTurnOptions;
  readonly #changes = new Notifier();
  readonly #over = Promise.withResolvers<void>();
  /** Keys that were seen to open a claimed turn; undefined is "no key". */
  readonly #opening = new WeakSet<Secret>();
  #opensWithoutKey = false;
  #writer: LogWriter | undefined;
  #storedSeq: number;
  #epoch: number;
  #outcome: TerminalEventType | undefined;
  #lost: "fenced" | "removed" | undefined;
  #failure: { readonly error: unknown } | undefined;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(options: LiveTurnOptions) {
    const { turn, owner, opening, writer, storedSeq, epoch, clock, retention } = options;
    this.turn = turn;
    const clientKey = opening === "claimed" ? undefined : opening.clientKey;
    this.record = new UnstoredRecord({ turn, owner, clientKey, clock, retention });
    this.#options = options;
    this.#writer = writer;
    this.#storedSeq = storedSeq;
    this.#events = new LiveEvents(storedSeq);
    this.#epoch = epoch;
  }

  get turnId(): TurnId {
    return this.turn.turnId;
  }

  get lastSeq(): number {
    return this.#events.lastSeq;
  }

  get outcome(): TerminalEventType | undefined {
    return this.#outcome;
  }

  /** Resolves when it has ended, is lost, or its writer has failed. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Whether the store holds all of it. */
  get isStored(): boolean {
    return this.#writer !== undefined && this.#storedSeq === this.#events.lastSeq;
  }

  /** Whether the store was ever seen to hold it. */
  get isKnown(): boolean {
    return this.#writer !== undefined;
  }

  /** Whether only the store can check who may read it. */
  get isClaimed(): boolean {
    return this.#options.opening === "claimed";
  }

  /** The right to write it, from now on this one's alone. */
  handle(): LogWriter {
    const epoch = this.#epoch;
    return {
      turnId: this.turnId,
      epoch,
      append: (bodies, atMs) => this.#inTurn(() => this.#append(epoch, bodies, atMs)),
    };
  }

  /** As `handle`, under a higher epoch: for a turn that the store does not hold, so cannot have claimed. */
  reclaimed(owner: string): LogWriter {
    this.record.owner = owner;
    this.#epoch += 1;
    return this.handle();
  }

  /** Resolves at the next change; the readers then look again. Rejects with the signal's reason. */
  changed(signal: AbortSignal): Promise<void> {
    return this.#changes.wait(signal);
  }

  /** Another process writes the turn now, or the turn was removed. Its writer is refused, and its readers read from the store. */
  lose(how: Exclude<Appended, "appended">): void {
    this.#lost ??= how === "removed" ? "removed" : "fenced";
    this.#options.onLost();
    this.#over.resolve();
    this.#changes.wake();
  }

  /** All that the store held before; read while it can be. */
  remember(events: readonly TurnEvent[]): void {
    this.#events.unshift(events, this.#storedSeq);
  }

  /** Throws the error with which its writer failed: nobody goes on with the turn in this process. */
  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /**
   * Events after that one, where memory has them and the reader may see them; undefined where the store has to say. Throws the error
   * of its writer after the last event.
   */
  read(afterSeq: number, limit: number): Opened<TurnEvent> | undefined {
    if (!this.#events.reaches(afterSeq)) return undefined;
    if (afterSeq > this.lastSeq) throw pastTheEnd();
    if (afterSeq === this.lastSeq) this.throwIfFailed();
    const events = this.#events.after(afterSeq, limit);
    return { events, ended: this.#outcome !== undefined && afterSeq + events.length === this.lastSeq };
  }

  /** Whether a reader with this key, or none, may read it here. False also where only the store knows. */
  opensTo(clientKey: Secret | undefined): boolean {
    const { opening } = this.#options;
    if (opening === "claimed") return clientKey === undefined ? this.#opensWithoutKey : this.#opening.has(clientKey);
    if (clientKey === undefined || opening.clientKey === undefined) return clientKey === opening.clientKey;
    return clientKey.equals(opening.clientKey);
  }

  /** The store has shown a claimed turn to this key, or to none. */
  wasOpenedBy(clientKey: Secret | undefined): void {
    if (clientKey === undefined) this.#opensWithoutKey = true;
    else this.#opening.add(clientKey);
  }

  /**
   * Gives the store the events that it lacks. Throws `degraded` if it fails again. A turn that another process took over meanwhile is
   * lost. A turn whose idempotency key belongs to another turn in the store stays here.
   */
  heal(store: LogStore): Promise<void> {
    return this.#inTurn(async () => {
      if (this.isStored || this.#lost !== undefined) return;
      const writer = await this.#writerAgain(store);
      if (writer === undefined) {
        if (!this.isKnown && this.lastSeq <= 1) this.lose("fenced"); // it has no answer yet: the other turn of its key answers
        return;
      }
      for (let seq = this.#storedSeq; seq < this.lastSeq; seq = this.#storedSeq) {
        const bodies = this.#batchAfter(seq);
        const appended = await writer.append(bodies.bodies, bodies.atMs);
        if (appended !== "appended") {
          this.lose(appended);
          return;
        }
        this.#storedSeq += bodies.bodies.length;
      }
      this.#writer = writer;
      this.#settle();
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work);
    this.#tail = done.catch(() => undefined); // the caller of that work gets the error; the next one starts afresh
    return done;
  }

  async #append(epoch: number, bodies: readonly TurnEventBody[], atMs: number): Promise<Appended> {
    if (this.#lost !== undefined || epoch !== this.#epoch) return this.#lost ?? "fenced";
    if (this.#outcome !== undefined) return "ended";
    if (this.isStored && this.#writer !== undefined) {
      try {
        const appended = await this.#writer.append(bodies, atMs);
        if (appended !== "appended") {
          this.lose(appended);
          return appended;
        }
        this.#storedSeq += bodies.length;
      } catch (error) {
        if (!isDegraded(error)) {
          this.#fail(error);
          throw error;
        }
        this.#options.onUnstored(error);
      }
    }
    this.#show(bodies, atMs);
    return "appended";
  }

  /** Its readers would wait for ever: the runner gives up after an error that it does not know. */
  #fail(error: unknown): void {
    this.#failure = { error };
    this.#over.resolve();
    this.#changes.wake();
  }

  #show(bodies: readonly TurnEventBody[], atMs: number): void {
    this.#events.push(bodies, atMs);
    this.#events.dropCold(this.#storedSeq);
    const last = bodies.at(-1);
    if (last !== undefined && isTerminal(last)) {
      this.#outcome = last.type;
      this.record.endedAtMs = atMs;
      this.#over.resolve();
    }
    this.#settle();
    this.#changes.wake();
  }

  #settle(): void {
    if (this.#outcome !== undefined && this.isStored) this.#options.onEnded();
  }

  /** Claims the turn again, because it is unknown how much the last write stored. Undefined if nothing is left to write. */
  async #writerAgain(store: LogStore): Promise<LogWriter | undefined> {
    const { turn, owner, clientKey } = this.record;
    const held = await store.get(turn.turnId, { clientKey });
    if (held === undefined) {
      if (this.#storedSeq > 0) {
        this.lose("removed");
        return undefined;
      }
      const { record, writer } = await store.create(turn, owner, { clientKey });
      return record.turnId === turn.turnId ? writer : undefined;
    }
    if (held.owner !== owner) {
      this.lose("fenced");
      return undefined;
    }
    const claimed = await store.claim(turn.turnId, owner);
    const stored = seqOf((claimed?.record ?? held).lastEventId);
    this.#storedSeq = Math.min(stored, this.lastSeq);
    if (claimed !== undefined) return claimed.writer;
    if (stored !== this.lastSeq) this.lose("fenced");
    this.#writer ??= { turnId: turn.turnId, epoch: this.#epoch, append: async () => "ended" };
    this.#settle();
    return undefined;
  }

  /** The next events that were appended at one time. */
  #batchAfter(seq: number): { readonly bodies: readonly TurnEventBody[]; readonly atMs: number } {
    const events = this.#events.after(seq, healBatch);
    const atMs = events[0]?.atMs ?? 0;
    const end = events.findIndex((event) => event.atMs !== atMs);
    const same = end < 0 ? events : events.slice(0, end);
    return { bodies: same.map(bodyOf), atMs };
  }
}
