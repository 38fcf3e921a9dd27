import { isDegraded, MillraceError } from "../base/errors.ts";
import type { EventId, TurnId } from "../base/ids.ts";
import { Notifier } from "../base/notifier.ts";
import type { Secret } from "../base/secret.ts";
import {
  type CancelledBy,
  eventIdOf,
  isTerminal,
  type OutlinedEvent,
  outlineEvent,
  outlineOf,
  seqIn,
  seqOf,
  shorten,
  type TurnEvent,
  type TurnEventBody,
} from "./event.ts";
import { largeParts, storeParts } from "./large-texts.ts";
import { LiveEvents } from "./live-events.ts";
import type { Medium } from "./medium.ts";
import { homeOf, notStored, type Row } from "./rows.ts";
import { type EntryChain, sealedAppend } from "./sealed-append.ts";
import { noTag, tagOf } from "./sealing/sealer.ts";
import {
  type AppendOutcome,
  type LogWriter,
  type NewTurn,
  type TurnFilter,
  type TurnLookup,
  type TurnRecord,
} from "./store.ts";
import type { Page } from "./turn-log.ts";
import { labelOf, withoutRequest } from "./turn-row.ts";

/** How many events are written at a time that the store lacked. */
const caughtUpAtOnce = 256;

/**
 * A turn that this process writes. Holds its events for the readers in this process and hands them to the store. An event is shown once
 * the store has it, or has failed.
 */
export class LiveTurn implements LogWriter {
  readonly #options;
  readonly #events: LiveEvents;
  readonly #changes = new Notifier();
  readonly #over = Promise.withResolvers<void>();
  readonly #cancel = Promise.withResolvers<CancelledBy>();
  /** Keys that were seen to open it. */
  readonly #opening = new WeakSet<Secret>();
  readonly #opensWithoutKey: boolean;
  #record: TurnRecord;
  /** The answer in short. */
  #outline: readonly OutlinedEvent[] = [];
  #storedSeq: number;
  /** Number of the last event that was handed to the store: a reader of the store may have it before the store has answered. */
  #handedSeq: number;
  #chain: EntryChain | undefined;
  #lost: "fenced" | "removed" | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor({
    record,
    ...options
  }: {
    readonly record: TurnRecord;
    readonly row: Row;
    /** Where it is stored; where it is not, what opens the row all the same: that says who may read it. */
    readonly medium: Medium;
    /** Undefined where the store does not have the turn. */
    readonly chain: EntryChain | undefined;
    /** Called when the store did not take an append: until it has caught up, memory alone has the turn. */
    readonly onUnstored: (error: MillraceError) => void;
    /** Called when the turn has ended. */
    readonly onEnded: () => void;
    /** Called when another process writes the turn now, or it was removed. */
    readonly onLost: () => void;
  }) {
    const { row, medium, chain } = options;
    this.#options = options;
    this.#record = { ...record, degraded: chain === undefined };
    this.#storedSeq = seqOf(record.lastEventId);
    this.#handedSeq = this.#storedSeq;
    this.#chain = chain;
    this.#events = new LiveEvents(this.#storedSeq, record.claims);
    this.#opensWithoutKey = medium.sealer.open(row, {}) !== undefined;
  }

  get turnId(): TurnId {
    return this.#record.turnId;
  }

  get epoch(): number {
    return this.#options.row.epoch;
  }

  get lastSeq(): number {
    return this.#events.lastSeq;
  }

  get hasEnded(): boolean {
    return this.#record.ended;
  }

  /** Whether the store lacks a part of it, or all of it. */
  get isDegraded(): boolean {
    return this.#record.degraded;
  }

  /** Whether the store has a part of it. */
  get isKnown(): boolean {
    return this.#chain !== undefined;
  }

  /**
   * Writes what the store lacks, once that takes writes again: a replica that took its primary's place may lack what that one had. A turn
   * that the store has no more, or that another gateway has ended there meanwhile, goes on in memory alone. Throws `degraded`.
   */
  async catchUp(): Promise<void> {
    if (!this.isKnown || this.isFailed || this.#lost !== undefined) return;
    const { medium, row } = this.#options;
    if (!this.isDegraded && !medium.rows.abilities.isShared) return;
    const stored = await medium.rows.get(row.id);
    if (!this.isDegraded && stored !== undefined && stored.last >= this.#storedSeq) return;
    this.#record = { ...this.#record, degraded: true };
    if (stored?.kind !== "turn" || stored.epoch !== row.epoch) return this.#forget();
    if (!this.#events.reaches(stored.last)) return this.#forget();
    // an append that was refused may have been stored all the same
    const [entry] = stored.last === 0 ? [] : await medium.rows.entries(row.id, stored.last - 1, { count: 1, bytes: 1 });
    this.#storedSeq = stored.last;
    this.#handedSeq = stored.last;
    this.#chain = this.#chain && { ...this.#chain, tag: entry === undefined ? noTag : tagOf(entry.bytes) };
    while (this.#chain !== undefined && this.#storedSeq < this.lastSeq) {
      const [first, ...rest] = this.#events.after(this.#storedSeq, caughtUpAtOnce);
      if (first === undefined) return this.#forget();
      const others = rest.findIndex(({ atMs }) => atMs !== first.atMs);
      const missing = [first, ...(others < 0 ? rest : rest.slice(0, others))];
      const bodies = missing.map(({ eventId: _id, atMs: _at, ...body }) => body as TurnEventBody); // as it was pushed
      const appended = await this.#commit(this.#chain, { bodies, atMs: first.atMs, outline: this.#outline });
      if (appended !== "appended") return this.#forget();
      this.#storedSeq += missing.length;
    }
    this.#record = { ...this.#record, degraded: false };
    this.#events.dropCold(this.#storedSeq);
  }

  /** From now on only memory has it. */
  #forget(): void {
    this.#chain = undefined;
  }

  /** What its client asked. */
  get facts(): NewTurn {
    return this.#record;
  }

  /** Whether its first event could not be stored, so that it was never prompted. */
  get isFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Resolves when it has ended, is lost, or its writer has failed. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Resolves once a cancel was requested. */
  get cancelRequest(): Promise<CancelledBy> {
    return this.#cancel.promise;
  }

  /** The first request stays. */
  requestCancel(by: CancelledBy): void {
    if (this.#record.cancelRequested === undefined) this.#record = { ...this.#record, cancelRequested: by };
    this.#cancel.resolve(this.#record.cancelRequested ?? by);
  }

  /** As `LogWriter.append`. Appends are stored in the order of the calls. */
  async append(bodies: readonly TurnEventBody[], atMs: number): Promise<AppendOutcome> {
    if (this.#lost !== undefined) return this.#lost;
    if (this.#record.ended) return "ended";
    if (bodies.length === 0) return "appended";
    const outline = this.#outlineWith(bodies, atMs);
    if (this.#chain !== undefined && !this.isDegraded) {
      try {
        const appended = await this.#commit(this.#chain, { bodies, atMs, outline });
        if (appended === "appended") this.#storedSeq += bodies.length;
        else if (!this.isDegraded) {
          // an append before it may have failed meanwhile
          this.lose(appended);
          return appended;
        }
      } catch (error) {
        if (!isDegraded(error)) throw this.#fail(error);
        this.#options.onUnstored(error);
        // a prompt may follow only what is stored: else the next process would ask once more
        const isPrompted = this.#record.idempotencyKey !== undefined && bodies.some(({ type }) => type === "started");
        if (isPrompted) throw this.#fail(notStored(error));
        this.#record = { ...this.#record, degraded: true };
      }
    }
    this.#show(bodies, atMs);
    return "appended";
  }

  /** After an append that throws `degraded` nobody knows what was stored, until `catchUp`. */
  async #commit(chain: EntryChain, events: Parameters<typeof sealedAppend>[3]): Promise<AppendOutcome> {
    const { medium, row } = this.#options;
    const end = events.bodies.at(-1);
    const parts = end?.type === "finished" ? largeParts([end.text]) : undefined;
    const place = { what: "end", of: row.id, box: chain.box } as const;
    const keeping = parts === undefined ? [] : [await storeParts(medium, place, parts.flat())];
    const before = this.#handedSeq;
    const { op, tag, flush } = sealedAppend(this.#options, chain, before, { ...events, textParts: parts?.[0]?.length });
    this.#chain = { ...chain, tag };
    this.#handedSeq += events.bodies.length;
    const outcome = await medium.rows.commit([op, ...keeping], flush);
    if (outcome.type === "done") return "appended";
    const { by } = outcome;
    if (outcome.at > 0) throw lostWrites(); // a sweep removed the parts
    if (by === undefined && (await this.#isStoreEmptied())) throw lostWrites();
    if (by?.kind !== "turn") return "removed";
    if (by.epoch !== row.epoch) return "fenced";
    if (by.open && by.last < before) throw lostWrites();
    return by.open ? "fenced" : "ended";
  }

  /** Whether the store has forgotten the home of this gateway too: then nobody removed the turn. */
  async #isStoreEmptied(): Promise<boolean> {
    const { medium, row } = this.#options;
    return (await medium.rows.shared?.isHomeThere(homeOf(row.owner))) === false;
  }

  /** Holds what the store had of it when it was claimed. Of a turn that its client sealed, observers find it only here. */
  recall(stored: readonly TurnEvent[]): void {
    this.#outline = stored.map(outlineEvent).reduce(shorten, []);
    this.#events.recall(stored);
    this.#events.dropCold(this.#storedSeq);
  }

  /** Resolves at the next change; the readers then look again. Rejects with the signal's reason. */
  changed(signal: AbortSignal): Promise<void> {
    return this.#changes.wait(signal);
  }

  /** Another process writes the turn now, or the turn was removed. Its writer is refused, and its readers read from the store. */
  lose(how: Exclude<AppendOutcome, "appended">): void {
    this.#lost ??= how === "removed" ? "removed" : "fenced";
    this.#options.onLost();
    this.#over.resolve();
    this.#changes.wake();
  }

  /** Throws the error with which its writer failed: nobody goes on with the turn in this process. */
  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /**
   * Events after that one, where memory has them; undefined where the store has to say. Throws the error of its writer after the last
   * event.
   */
  read(after: EventId, limit: number): Page | undefined {
    const { claims } = this.#record;
    const lastEventId = eventIdOf(Math.max(this.lastSeq, this.#handedSeq), claims);
    const afterSeq = seqIn({ lastEventId, claims }, after);
    if (!this.#events.reaches(afterSeq)) return undefined;
    if (afterSeq >= this.lastSeq) this.throwIfFailed();
    const events = this.#events.after(afterSeq, limit);
    return { events, ended: this.#record.ended && afterSeq + events.length === this.lastSeq };
  }

  /** Whether a reader with this key, or none, may read it. */
  opensTo(clientKey: Secret | undefined): boolean {
    if (clientKey === undefined) return this.#opensWithoutKey;
    if (this.#opening.has(clientKey)) return true;
    const { medium, row } = this.#options;
    if (medium.sealer.open(row, { clientKey }) === undefined) return false;
    this.#opening.add(clientKey);
    return true;
  }

  /** A reader was there at that time; `graceMs` is the grace time that it asked for. */
  attached(atMs: number, graceMs = 0): void {
    this.#record = { ...this.#record, attachedAtMs: atMs, graceMs: Math.max(this.#record.graceMs, graceMs) };
  }

  wasAttachedSince(atMs: number): boolean {
    return this.#record.attachedAtMs > atMs;
  }

  delivered(): void {
    this.#record = { ...this.#record, delivered: true };
  }

  keepUntil(expiresAtMs: number): void {
    if (expiresAtMs > this.#record.expiresAtMs) this.#record = { ...this.#record, expiresAtMs };
  }

  /** A running turn does not expire. */
  hasExpired(nowMs: number): boolean {
    return this.#record.ended && this.#record.expiresAtMs <= nowMs;
  }

  /** The record as this process knows it. */
  shown({ clientKey, caller }: TurnLookup): TurnRecord | undefined {
    if (caller !== undefined && caller !== this.#record.caller) return undefined;
    const record = { ...this.#record, cancelRequested: this.hasEnded ? undefined : this.#record.cancelRequested };
    if (this.opensTo(clientKey)) return record;
    return clientKey === undefined ? { ...sealedRecord(record), sealed: true } : undefined;
  }

  passes({ caller, fingerprint, session, idempotencyKey, open }: TurnFilter): boolean {
    const record = this.#record;
    return (
      (open === undefined || open !== record.ended) &&
      (caller === undefined || record.caller === caller) &&
      (fingerprint === undefined || record.fingerprint === fingerprint) &&
      (session === undefined || record.session === session) &&
      (idempotencyKey === undefined || record.idempotencyKey === idempotencyKey)
    );
  }

  /** Its readers would wait for ever: the runner gives up after an error that it does not know. */
  #fail(error: unknown): unknown {
    this.#failure = { error };
    this.#over.resolve();
    this.#changes.wake();
    return error;
  }

  /** The outline in short with these events; appends come one after another. */
  #outlineWith(bodies: readonly TurnEventBody[], atMs: number): readonly OutlinedEvent[] {
    let seq = Math.max(this.lastSeq, this.#handedSeq);
    return (this.#outline = bodies.reduce(
      (short, body) => shorten(short, { ...outlineOf(body), eventId: eventIdOf(++seq, this.#record.claims), atMs }),
      this.#outline,
    ));
  }

  #show(bodies: readonly TurnEventBody[], atMs: number): void {
    this.#events.push(bodies, atMs);
    this.#events.dropCold(this.#storedSeq);
    const last = bodies.at(-1);
    const lastEventId = eventIdOf(this.lastSeq, this.#record.claims);
    if (last !== undefined && isTerminal(last)) {
      const { clock, retention } = this.#options.medium;
      const expiresAtMs = clock.now() + retention.keptMs;
      const outline = this.#outline;
      this.#record = { ...this.#record, lastEventId, ended: true, outcome: last.type, outline, expiresAtMs };
      this.#over.resolve();
      this.#options.onEnded();
    } else this.#record = { ...this.#record, lastEventId };
    this.#changes.wake();
  }
}

/** A replica took its primary's place. */
function lostWrites(): MillraceError {
  return new MillraceError("degraded", "The log's server lost events that it had stored.");
}

/** The record as it is shown without the key of the client that sealed the turn. */
function sealedRecord(record: TurnRecord): TurnRecord {
  const { wire: _wire, ...shown } = record;
  return withoutRequest({ ...shown, ...labelOf(record, true) });
}
