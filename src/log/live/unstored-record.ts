import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import type { Secret } from "../../base/secret.ts";
import type { CancelledBy, TerminalEventType } from "../event.ts";
import { eventIdOf } from "../event-id.ts";
import { decodeLabel, encodeLabel } from "../label.ts";
import { expiryOf, type Retention } from "../retention.ts";
import type { Looking, NewTurn, TurnFilter, TurnRecord } from "../store.ts";

/** The state of the turn's log. */
interface Standing {
  readonly lastSeq: number;
  readonly outcome: TerminalEventType | undefined;
}

export interface RecordOptions {
  readonly turn: NewTurn;
  readonly owner: string;
  readonly clientKey: Secret | undefined;
  readonly clock: Clock;
  readonly retention: Retention;
}

/** A turn's record while its store fails: the same facts as a store's record, unsealed. */
export class UnstoredRecord {
  readonly turn: NewTurn;
  owner: string;
  readonly clientKey: Secret | undefined;
  readonly #clock: Clock;
  readonly #retention: Retention;
  delivered = false;
  endedAtMs: number | undefined;
  /** When its content was erased, and its tombstone began. */
  erasedAtMs: number | undefined;
  /** When the last turn of its stream expires, if that is later than this turn's own expiry. */
  keptUntilMs = 0;
  #attachedAtMs: number;
  #graceMs: number;
  #cancelRequested: CancelledBy | undefined;
  readonly #asked = Promise.withResolvers<CancelledBy>();

  constructor({ turn, owner, clientKey, clock, retention }: RecordOptions) {
    this.#clock = clock;
    this.#retention = retention;
    this.turn = turn;
    this.owner = owner;
    this.clientKey = clientKey;
    this.#attachedAtMs = turn.createdAtMs;
    this.#graceMs = turn.graceMs;
  }

  attached(atMs: number, graceMs = 0): void {
    this.#attachedAtMs = atMs;
    this.#graceMs = Math.max(this.#graceMs, graceMs);
  }

  wasAttachedSince(atMs: number): boolean {
    return this.#attachedAtMs > atMs;
  }

  /** Resolves once a cancel was requested in this process. */
  get asked(): Promise<CancelledBy> {
    return this.#asked.promise;
  }

  /** The first request stays. */
  ask(by: CancelledBy): void {
    this.#cancelRequested ??= by;
    this.#asked.resolve(this.#cancelRequested);
  }

  /** When the turn expires; for a running turn, as if it ended now. */
  expiresAtMs(): number {
    const nowMs = this.#clock.now();
    const { endedAtMs = nowMs } = this;
    const attachedAtMs = this.endedAtMs === undefined ? nowMs : this.#attachedAtMs;
    return Math.max(expiryOf(endedAtMs, attachedAtMs, this.#retention), this.keptUntilMs);
  }

  /** A turn that was seen expired stays expired, even if the clock goes back. */
  hasExpired(): boolean {
    const nowMs = this.#clock.now();
    if (this.endedAtMs !== undefined && this.expiresAtMs() <= nowMs) this.erasedAtMs ??= nowMs;
    return this.erasedAtMs !== undefined;
  }

  /** The record as a store would show it to this reader. Throws `expired`. */
  shown({ clientKey, caller }: Looking, { lastSeq, outcome }: Standing): TurnRecord | undefined {
    const { turn, owner } = this;
    if (caller !== undefined && caller !== turn.caller) return undefined;
    if (this.hasExpired()) throw expiredTurn();
    const record: TurnRecord = {
      ...turn,
      graceMs: this.#graceMs,
      ended: outcome !== undefined,
      outcome,
      delivered: this.delivered,
      cancelRequested: outcome === undefined ? this.#cancelRequested : undefined,
      owner,
      degraded: true,
      lastEventId: lastSeq === 0 ? startOfLog : eventIdOf(lastSeq),
      attachedAtMs: this.#attachedAtMs,
      expiresAtMs: this.expiresAtMs(),
    };
    if (this.clientKey === undefined) return clientKey === undefined ? record : undefined;
    if (clientKey !== undefined) return clientKey.equals(this.clientKey) ? record : undefined;
    return { ...record, ...decodeLabel(encodeLabel(turn)), sealed: true };
  }

  passes({ caller, fingerprint, session, idempotencyKey, open, exceptOwner }: TurnFilter, ended: boolean): boolean {
    const { turn } = this;
    return (
      (open === undefined || open !== ended) &&
      (exceptOwner === undefined || this.owner !== exceptOwner) &&
      (caller === undefined || turn.caller === caller) &&
      (fingerprint === undefined || turn.fingerprint === fingerprint) &&
      (session === undefined || turn.session === session) &&
      (idempotencyKey === undefined || turn.idempotencyKey === idempotencyKey)
    );
  }
}

export function expiredTurn(): MillraceError {
  return new MillraceError("expired", "The answer to this request is no longer kept.");
}
