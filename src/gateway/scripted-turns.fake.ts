import type { Clock } from "../base/clock.ts";
import type { EventSink } from "../base/emitter.ts";
import { MillraceError } from "../base/errors.ts";
import { type EventId, newTurnId, startOfLog, type TurnId } from "../base/ids.ts";
import { parseJson, writeJson } from "../base/json.ts";
import { Notifier } from "../base/notifier.ts";
import {
  type CancelledBy,
  eventIdOf,
  isTerminal,
  type OutlinedEvent,
  outlineEvent,
  shorten,
  type TurnEvent,
  type TurnEventBody,
} from "../log/event.ts";
import { questionOf } from "../log/question.ts";
import type { NextEvents } from "../log/read-turn.ts";
import { unknownTurn } from "../log/rows.ts";
import type { TurnLabel, TurnRecord } from "../log/store.ts";
import type { TurnLifecycle } from "../turns/lifecycle.ts";
import type { Turns } from "../turns/open-turns.ts";
import type { QueuePlace } from "../turns/queue.ts";
import type { AskedTurn, RequestIdentity, StartedTurn, TurnReader } from "../turns/turns.ts";

interface HeldTurn {
  record: TurnRecord;
  readonly events: TurnEvent[];
  readers: number;
  aliveAtMs: number | undefined;
}

const keptMs = 7_200_000;

/** The events of a turn's backend, all at once; more may come through `emit`. */
export type Script = (turn: AskedTurn) => readonly TurnEventBody[];

/** Turns in memory, answered by a script: for tests of the layers above turns. Joins, cursors and delivery are real. */
export class ScriptedTurns implements Turns {
  /** Every request that started a new turn, in order. */
  readonly started: AskedTurn[] = [];
  degraded = false;
  /** The models that a limit blocks. */
  blocks: ReturnType<Turns["blocked"]> = [];
  script: Script = () => [];
  /** The error that `start` throws, for tests without a turn. */
  refuses: MillraceError | undefined;
  readonly #clock: Clock;
  readonly #events: EventSink<Pick<TurnLifecycle, "turn_started">> | undefined;
  readonly #turns = new Map<TurnId, HeldTurn>();
  readonly #changes = new Notifier();

  constructor(clock: Clock, events?: EventSink<Pick<TurnLifecycle, "turn_started">>) {
    this.#clock = clock;
    this.#events = events;
  }

  async start(...[asked, signal]: Parameters<Turns["start"]>): Promise<StartedTurn> {
    signal.throwIfAborted();
    const joined = await this.#join(asked);
    if (joined !== undefined) return joined;
    const turn = "resolve" in asked ? await asked.resolve() : asked;
    if (this.refuses !== undefined) throw this.refuses;
    this.started.push(turn);
    const turnId = newTurnId(this.#clock.now());
    const { retry: _retry, graceMs = 120_000, ...kept } = turn;
    const now = this.#clock.now();
    const record: TurnRecord = {
      ...(parseJson(writeJson(kept)) as typeof kept), // as a store does
      turnId,
      graceMs,
      createdAtMs: now,
      attachedAtMs: now,
      expiresAtMs: now + keptMs,
      ended: false,
      outcome: undefined,
      delivered: false,
      cancelRequested: undefined,
      owner: "test",
      degraded: false,
      lastEventId: startOfLog,
      messageCount: kept.request.messages.length,
    };
    this.#turns.set(turnId, { record, events: [], readers: 0, aliveAtMs: undefined });
    this.emit(turnId, ...this.script(turn));
    this.#events?.emit("turn_started", { turnId });
    return this.#answer(this.#turns.get(turnId)?.record ?? record, "no");
  }

  async #join(turn: RequestIdentity): Promise<StartedTurn | undefined> {
    const earlier = this.#joins(turn);
    if (earlier !== undefined) await this.noteReader(earlier.record, turn.graceMs);
    return earlier && this.#answer(earlier.record, turn.idempotencyKey ? "key" : "implicit");
  }

  /** Appends events to a turn, as its runner would. */
  emit(turnId: TurnId, ...bodies: readonly TurnEventBody[]): void {
    const turn = this.#turns.get(turnId);
    if (turn === undefined) throw new Error(`no turn ${turnId}`);
    for (const body of bodies) {
      if (turn.record.ended) throw new Error(`${body.type} after the end of ${turnId}`);
      const eventId = eventIdOf(turn.events.length + 1);
      turn.events.push({ ...body, eventId, atMs: this.#clock.now() });
      turn.record = { ...turn.record, lastEventId: eventId };
      if (!isTerminal(body)) continue;
      const outline = turn.events.map(outlineEvent).reduce<readonly OutlinedEvent[]>(shorten, []);
      turn.record = { ...turn.record, ended: true, outcome: body.type, outline };
    }
    this.#changes.wake();
  }

  /** The id of the n-th turn (from 0). */
  turnId(n: number): TurnId {
    const id = [...this.#turns.keys()][n];
    if (id === undefined) throw new Error(`only ${this.#turns.size} turns`);
    return id;
  }

  /** The upstream answered a poll of this turn now. */
  alive(turnId: TurnId): void {
    const turn = this.#turns.get(turnId);
    if (turn !== undefined) turn.aliveAtMs = this.#clock.now();
  }

  /** Where each turn that waits stands. */
  readonly places = new Map<TurnId, QueuePlace>();

  load() {
    return { running: 0, waiting: 0 };
  }

  placeInQueue(turnId: TurnId): QueuePlace | undefined {
    return this.places.get(turnId);
  }

  /** How many readers a turn has now. */
  readers(turnId: TurnId): number {
    return this.#turns.get(turnId)?.readers ?? 0;
  }

  /** Whether a reader came back for more after the terminal event. */
  delivered(turnId: TurnId): boolean {
    return this.#turns.get(turnId)?.record.delivered ?? false;
  }

  open(turnId: TurnId, after: EventId, signal: AbortSignal): TurnReader {
    const turn = this.#turns.get(turnId);
    if (turn === undefined) throw unknownTurn();
    turn.readers++;
    this.#changes.wake();
    let isClosed = false;
    return {
      next: this.look(turnId, after, signal),
      close: async (isDelivered) => {
        if (isClosed) return;
        isClosed = true;
        if (isDelivered) turn.record = { ...turn.record, delivered: true };
        turn.readers--;
        this.#changes.wake();
      },
    };
  }

  look(turnId: TurnId, after: EventId, signal: AbortSignal): NextEvents {
    const events = this.follow(turnId, after, signal);
    return async () => {
      const { done, value } = await events.next();
      return done === true ? undefined : [value];
    };
  }

  async *follow(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<TurnEvent, void> {
    const turn = this.#turns.get(turnId);
    if (turn === undefined) throw unknownTurn();
    let cursor = after;
    for (;;) {
      signal.throwIfAborted();
      if (!this.#turns.has(turnId)) throw unknownTurn();
      const next = turn.events.find((event) => event.eventId > cursor);
      if (next !== undefined) {
        cursor = next.eventId;
        yield next;
      } else if (turn.record.ended) return;
      else await this.changed(signal);
    }
  }

  async *outline(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<OutlinedEvent, void> {
    for await (const event of this.follow(turnId, after, signal)) yield outlineEvent(event);
  }

  async untilEnded(turnId: TurnId, signal: AbortSignal): Promise<void> {
    for await (const event of this.follow(turnId, startOfLog, signal)) if (isTerminal(event)) return;
  }

  unread(turnId: TurnId): ReturnType<Turns["unread"]> {
    const turn = this.#turns.get(turnId);
    if (turn === undefined || turn.record.ended || turn.readers > 0) return undefined;
    return { sinceMs: turn.record.createdAtMs, untilMs: turn.record.createdAtMs + turn.record.graceMs };
  }

  blocked(): ReturnType<Turns["blocked"]> {
    return this.blocks;
  }

  lastAliveAtMs(turnId: TurnId): number | undefined {
    return this.#turns.get(turnId)?.aliveAtMs;
  }

  async noteReader({ turnId }: TurnRecord, graceMs = 0): Promise<TurnRecord> {
    const turn = this.#turns.get(turnId);
    if (turn === undefined) throw unknownTurn();
    const now = this.#clock.now();
    const longest = Math.max(turn.record.graceMs, graceMs);
    turn.record = { ...turn.record, graceMs: longest, attachedAtMs: now, expiresAtMs: now + keptMs };
    return turn.record;
  }

  async noteDelivered(turnId: TurnId): Promise<void> {
    const turn = this.#turns.get(turnId);
    if (turn !== undefined) turn.record = { ...turn.record, delivered: true };
  }

  async cancel(turnId: TurnId, by: CancelledBy): Promise<void> {
    if (this.#turns.get(turnId)?.record.ended === false) this.emit(turnId, { type: "cancelled", by });
  }

  async get(turnId: TurnId, caller?: string): Promise<TurnRecord | undefined> {
    const record = this.#turns.get(turnId)?.record;
    if (record === undefined || (caller !== undefined && record.caller !== caller)) return undefined;
    if (record.expiresAtMs <= this.#clock.now()) throw new MillraceError("expired", "No longer kept.");
    return record;
  }

  async getLabel(turnId: TurnId): Promise<TurnLabel | undefined> {
    const record = this.#turns.get(turnId)?.record;
    return record && labelled(record);
  }

  /** Another process removes it, as one does whose store did not take the first event. */
  takeBack(turnId: TurnId): void {
    this.#turns.delete(turnId);
    this.#changes.wake();
  }

  async remove(turnId: TurnId): Promise<void> {
    await this.cancel(turnId, "client");
    this.#turns.delete(turnId);
  }

  async list({ open, caller, limit }: Parameters<Turns["list"]>[0]): Promise<readonly TurnLabel[]> {
    const records = [...this.#turns.values()].map((turn) => turn.record).reverse();
    const asked = (record: TurnRecord) =>
      (open === undefined || record.ended !== open) && (caller === undefined || record.caller === caller);
    return records.filter(asked).slice(0, limit).map(labelled);
  }

  async stop(): Promise<void> {
    for (const turnId of this.#turns.keys()) await this.cancel(turnId, "shutdown");
  }

  /** Resolves when anything changed: an event, a reader that came or went. */
  changed(signal: AbortSignal): Promise<void> {
    return this.#changes.wait(signal);
  }

  #joins(turn: RequestIdentity): HeldTurn | undefined {
    for (const held of this.#turns.values()) {
      const { record } = held;
      if (record.caller !== turn.caller) continue;
      const same = record.fingerprint === turn.fingerprint;
      if (turn.idempotencyKey !== undefined && record.idempotencyKey === turn.idempotencyKey) {
        if (same) return held;
        throw new MillraceError("idempotency_conflict", "This idempotency key belongs to another request.");
      }
      const again = turn.retry === true || (held.readers === 0 && !record.delivered);
      if (turn.idempotencyKey === undefined && same && record.session === turn.session && again) return held;
    }
    return undefined;
  }

  #answer(record: TurnRecord, joined: StartedTurn["joined"]): StartedTurn {
    return {
      turnId: record.turnId,
      record: { ...record, degraded: this.degraded, expiresAtMs: this.#clock.now() + keptMs },
      joined,
      continuity: () => "rebuilt(new)",
    };
  }
}

function labelled(record: TurnRecord): TurnLabel {
  return { ...record, question: questionOf(record.request) };
}
