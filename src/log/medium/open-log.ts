import type { Clock } from "../../base/clock.ts";
import { isDegraded, MillraceError } from "../../base/errors.ts";
import { type EventId, startOfLog, type TurnId } from "../../base/ids.ts";
import type { Secret } from "../../base/secret.ts";
import type {
  AttachedStream,
  AttachIntent,
  AttachProof,
  StreamHolder,
  StreamMessage,
  StreamName,
} from "../client-stream.ts";
import type { CancelledBy, TurnEvent } from "../event.ts";
import { eventIdOf, seqOf } from "../event-id.ts";
import { decodeHeader, encodeHeader, headerOf, type TurnHeader } from "../header.ts";
import { decodeLabel, encodeLabel } from "../label.ts";
import { type OutlinedEvent, outlineEvent } from "../outline.ts";
import { expiryOf, hasExpired, type Retention } from "../retention.ts";
import type {
  Admitted,
  Claimed,
  Created,
  CreateOptions,
  LogStore,
  LogWriter,
  Looking,
  NewTurn,
  Opening,
  StartingTurn,
  StoreCapabilities,
  TurnFilter,
  TurnRecord,
} from "../store.ts";
import { CancelWatch } from "./cancel-watch.ts";
import type { Access, LogCodec, TurnCodec } from "./codec.ts";
import { MediumWriter } from "./log-writer.ts";
import type { LogMedium, Page, TurnRow } from "./medium.ts";
import { Streams } from "./open-streams.ts";
import { pageBytes } from "./page-limit.ts";
import { type Opened, openOutline, openPage, type PageAsk } from "./read-page.ts";

export interface LogOptions {
  readonly medium: LogMedium;
  readonly codec: LogCodec;
  readonly clock: Clock;
  readonly retention: Retention;
}

/** A grace time without end, as a row has it. */
const endlessGraceMs = Number.MAX_SAFE_INTEGER;

/** How who brings no client's key reads. */
const keyless: Access = { clientKey: undefined };

/** The event log over any medium: encodes and checks records, counts expiry; the medium only keeps bytes. */
export function openLog(options: LogOptions): LogStore {
  return new Log(options);
}

/** One method for each call of the store. Longer than 300 lines because every call needs the codec, the clock and the retention. */
class Log implements LogStore {
  readonly capabilities: StoreCapabilities;
  readonly #medium: LogMedium;
  readonly #codec: LogCodec;
  readonly #clock: Clock;
  readonly #retention: Retention;
  readonly #streams: Streams;
  readonly #cancels: CancelWatch;

  constructor({ medium, codec, clock, retention }: LogOptions) {
    this.capabilities = medium.capabilities;
    this.#medium = medium;
    this.#codec = codec;
    this.#clock = clock;
    this.#retention = retention;
    this.#cancels = new CancelWatch(medium);
    this.#streams = new Streams(medium, codec, clock, retention);
  }

  async create(turn: NewTurn, owner: string, { clientKey, flush = true }: CreateOptions = {}): Promise<Created> {
    const { row: fresh, codec } = this.#newRow(turn, owner, clientKey);
    const { row, created } = await this.#medium.create(fresh, flush);
    if (created) {
      return { record: this.#described(row, headerOf(turn)), writer: this.#writerOf(row, codec) };
    }
    await this.#refuseExpired(row);
    return { record: this.#recordOf(row, this.#codecOf(row, { clientKey })), writer: undefined };
  }

  async claim(turnId: TurnId, owner: string): Promise<Claimed | undefined> {
    const row = await this.#medium.claim(turnId, owner);
    if (row === undefined) return undefined;
    const codec = this.#codecOf(row, "runner");
    const readAll = async () => {
      const events: TurnEvent[] = [];
      while (events.length < row.lastSeq) {
        events.push(...(await this.#readAfter(turnId, events.length, 1024, "runner")).events);
      }
      return events;
    };
    return { record: this.#recordOf(row, codec), writer: this.#writerOf(row, codec), readAll };
  }

  async listRunning(options: { readonly exceptOwner?: string } = {}): Promise<readonly TurnRecord[]> {
    const rows = await this.#medium.list({ ...options, open: true, limit: Number.MAX_SAFE_INTEGER });
    return this.#recordsOf(rows, "runner");
  }

  async oldestRunningMs(): Promise<number> {
    const rows = await this.#medium.list({ open: true, limit: Number.MAX_SAFE_INTEGER });
    return rows.at(-1)?.createdAtMs ?? Number.POSITIVE_INFINITY;
  }

  async readAfter(
    turnId: TurnId,
    after: EventId,
    { limit, clientKey }: { readonly limit: number } & Opening,
  ): Promise<Opened<TurnEvent>> {
    return this.#readAfter(turnId, seqOf(after), limit, { clientKey });
  }

  async readOutlineAfter(
    turnId: TurnId,
    after: EventId,
    { limit }: { readonly limit: number },
  ): Promise<Opened<OutlinedEvent>> {
    const ask = { afterSeq: seqOf(after), limit };
    const page = await this.#pageOf(turnId, ask, keyless);
    const codec = this.#codec.openTurn(page.row, keyless);
    if (codec !== undefined) {
      const { events, ended } = openPage(page, ask, codec);
      return { events: events.map(outlineEvent), ended };
    }
    if (this.#codec.openLabel(page.row) === undefined) throw unknownTurn(); // the gateway's key is another one now
    return openOutline(page, ask, this.#codec.outlines(turnId));
  }

  async #readAfter(turnId: TurnId, afterSeq: number, limit: number, access: Access): Promise<Opened<TurnEvent>> {
    const ask = { afterSeq, limit };
    const page = await this.#pageOf(turnId, ask, access);
    return openPage(page, ask, this.#codecOf(page.row, access));
  }

  async #pageOf(turnId: TurnId, { afterSeq, limit }: PageAsk, access: Access): Promise<Page> {
    const page = await this.#medium.read(turnId, afterSeq, { events: limit, bytes: pageBytes });
    if (page === undefined) throw this.#unknownTurn(access);
    await this.#refuseExpired(page.row);
    return page;
  }

  async untilPast(turnId: TurnId, cursor: EventId, signal: AbortSignal): Promise<void> {
    const seq = seqOf(cursor);
    for (;;) {
      const row = await this.#rowOf(turnId);
      if (row.lastSeq > seq || row.outcome !== undefined) return;
      await this.#medium.untilChanged(turnId, row.version, signal);
    }
  }

  async untilEnded(turnId: TurnId, signal: AbortSignal): Promise<void> {
    for (;;) {
      const row = await this.#rowOf(turnId);
      if (row.outcome !== undefined) return;
      await this.#medium.untilChanged(turnId, row.version, signal);
    }
  }

  async requestCancel(turnId: TurnId, by: CancelledBy, stream?: StreamHolder): Promise<boolean> {
    await this.#rowOf(turnId);
    const holder = stream && this.#streams.holderOf(stream);
    return this.#medium.mark(turnId, { cancelRequested: by }, holder);
  }

  untilCancelRequested(turnId: TurnId, signal: AbortSignal): Promise<CancelledBy> {
    return this.#cancels.wait(turnId, signal);
  }

  async noteReader(turnId: TurnId, atMs: number, graceMs?: number): Promise<void> {
    const { endedAtMs } = await this.#rowOf(turnId);
    const expiry = endedAtMs === undefined ? {} : { expiresAtMs: expiryOf(endedAtMs, atMs, this.#retention) };
    const grace = graceMs === undefined ? {} : { longerGraceMs: Math.min(graceMs, endlessGraceMs) };
    await this.#medium.mark(turnId, { attachedAtMs: atMs, ...expiry, ...grace });
  }

  async keepTogether(turnIds: readonly TurnId[]): Promise<void> {
    const nowMs = this.#clock.now();
    const rows = await Promise.all(turnIds.map((turnId) => this.#medium.get(turnId)));
    const expiresAtMs = rows.at(-1)?.expiresAtMs ?? nowMs + this.#retention.windowMs;
    for (const row of rows) {
      const sooner = row?.expiresAtMs !== undefined && row.expiresAtMs < expiresAtMs;
      if (sooner && !hasExpired(row, nowMs)) await this.#medium.mark(row.turnId, { expiresAtMs });
    }
  }

  async noteDelivered(turnId: TurnId): Promise<void> {
    await this.#medium.mark(turnId, { delivered: true });
  }

  async get(turnId: TurnId, { clientKey, caller }: Looking = {}): Promise<TurnRecord | undefined> {
    const there = await this.#medium.get(turnId);
    const row = caller === undefined || there?.caller === caller ? there : undefined;
    if (row !== undefined) await this.#refuseExpired(row);
    const access = { clientKey };
    const codec = this.#codec.openTurn(row, access);
    return row === undefined ? undefined : this.#shown(row, codec, access);
  }

  async list({ fingerprint, session, idempotencyKey, ...filter }: TurnFilter): Promise<readonly TurnRecord[]> {
    const rows = await this.#medium.list({
      ...filter,
      ...(fingerprint === undefined ? {} : { matchIndex: this.#codec.index(`body:${fingerprint}`) }),
      ...(session === undefined ? {} : { sessionIndex: this.#codec.index(`session:${session}`) }),
      ...(idempotencyKey === undefined ? {} : { keyIndex: this.#codec.index(`key:${idempotencyKey}`) }),
    });
    // A key has at most one turn. A key whose turn has expired never gets another prompt, also if that cannot be noted.
    if (idempotencyKey !== undefined) for (const row of rows) await this.#refuseExpired(row);
    return this.#recordsOf(rows, keyless);
  }

  attachStream(name: StreamName, intent: AttachIntent, proof?: AttachProof): Promise<AttachedStream> {
    return this.#streams.attach(name, intent, proof);
  }

  async admit(stream: StreamHolder, message: StreamMessage, start?: StartingTurn): Promise<Admitted> {
    const made = start && this.#newRow(start.turn, start.owner, stream.name.clientKey);
    const outcome = await this.#streams.admit(stream, message, made?.row);
    if (outcome !== "admitted") return { outcome };
    if (start === undefined || made === undefined) return { outcome, turn: undefined };
    const record = this.#described(made.row, headerOf(start.turn));
    return { outcome, turn: { record, writer: this.#writerOf(made.row, made.codec) } };
  }

  untilSuperseded(stream: Pick<AttachedStream, "name" | "epoch">, signal: AbortSignal): Promise<void> {
    return this.#streams.untilSuperseded(stream, signal);
  }

  remove(turnId: TurnId): Promise<void> {
    return this.#medium.remove(turnId);
  }

  renewOwner(owner: string, aliveUntilMs: number): Promise<void> {
    return this.#medium.renewOwner(owner, aliveUntilMs);
  }

  async holdsTurn(turnId: TurnId, owner: string, aliveUntilMs: number): Promise<boolean> {
    await this.#medium.renewOwner(owner, aliveUntilMs);
    return (await this.#medium.get(turnId))?.owner === owner;
  }

  owners(): Promise<ReadonlyMap<string, number>> {
    return this.#medium.owners();
  }

  sweep(nowMs: number): Promise<void> {
    return this.#medium.sweep(nowMs, nowMs - this.#retention.tombstoneMs);
  }

  close(): Promise<void> {
    return this.#medium.close();
  }

  async #rowOf(turnId: TurnId): Promise<TurnRow> {
    const row = await this.#medium.get(turnId);
    if (row === undefined) throw unknownTurn();
    await this.#refuseExpired(row);
    return row;
  }

  #newRow(turn: NewTurn, owner: string, clientKey: Secret | undefined): { row: TurnRow; codec: TurnCodec } {
    const { wrappedKey, codec } = this.#codec.newTurn(turn.turnId, clientKey);
    const { turnId, createdAtMs, caller } = turn;
    const header = headerOf(turn);
    const key = turn.idempotencyKey;
    const row: TurnRow = {
      turnId,
      createdAtMs,
      caller,
      keyIndex: key === undefined ? undefined : this.#codec.index(`key:${key}`),
      matchIndex: this.#codec.index(`body:${turn.fingerprint}`),
      sessionIndex: turn.session === undefined ? undefined : this.#codec.index(`session:${turn.session}`),
      header: codec.encodeHeader(encodeHeader(header)),
      label: clientKey === undefined ? new Uint8Array(0) : this.#codec.sealLabel(turn.turnId, encodeLabel(header)),
      wrappedKey,
      owner,
      epoch: 1,
      lastSeq: 0,
      lastMac: new Uint8Array(0),
      outcome: undefined,
      endedAtMs: undefined,
      attachedAtMs: createdAtMs,
      longerGraceMs: 0,
      expiresAtMs: undefined,
      delivered: false,
      cancelRequested: undefined,
      erasedAtMs: undefined,
      version: 1,
    };
    return { row, codec };
  }

  #codecOf(row: TurnRow, access: Access): TurnCodec {
    const codec = this.#codec.openTurn(row, access);
    if (codec === undefined) throw unknownTurn(); // another key: as if it were not there
    return codec;
  }

  /** Takes as long as for a turn that is there under another key. */
  #unknownTurn(access: Access): MillraceError {
    this.#codec.openTurn(undefined, access);
    return unknownTurn();
  }

  #writerOf(row: TurnRow, codec: TurnCodec): LogWriter {
    const closedKey = this.#codec.closeKey(row.wrappedKey);
    const outlines = closedKey === undefined ? undefined : this.#codec.outlines(row.turnId);
    return new MediumWriter({ medium: this.#medium, codec, retention: this.#retention, row, closedKey, outlines });
  }

  #recordsOf(rows: readonly TurnRow[], access: Access): readonly TurnRecord[] {
    const records: TurnRecord[] = [];
    for (const row of rows) {
      if (hasExpired(row, this.#clock.now())) continue;
      const record = this.#shown(row, this.#codec.openTurn(row, access), access);
      if (record !== undefined) records.push(record);
    }
    return records;
  }

  /** The part of the turn that the caller may see: all of it, nothing, or only the label if a client sealed the turn and the caller gave no key. */
  #shown(row: TurnRow, codec: TurnCodec | undefined, access: Access): TurnRecord | undefined {
    if (codec !== undefined) return this.#recordOf(row, codec);
    if (access === "runner" || access.clientKey !== undefined) return undefined;
    const label = this.#codec.openLabel(row);
    return label === undefined ? undefined : { ...this.#described(row, decodeLabel(label)), sealed: true };
  }

  /** Once seen expired it is erased, so that a clock that goes back cannot bring it to life. */
  async #refuseExpired(row: TurnRow): Promise<void> {
    const now = this.#clock.now();
    if (!hasExpired(row, now)) return;
    if (row.erasedAtMs === undefined) await this.#eraseWhereWritable(row.turnId, now);
    throw new MillraceError("expired", "The answer to this request is no longer kept.");
  }

  /** A log that can only be read erases later; the turn is refused all the same. */
  async #eraseWhereWritable(turnId: TurnId, atMs: number): Promise<void> {
    try {
      await this.#medium.erase(turnId, atMs);
    } catch (error) {
      if (!isDegraded(error)) throw error;
    }
  }

  #recordOf(row: TurnRow, codec: TurnCodec): TurnRecord {
    return this.#described(row, decodeHeader(codec.decodeHeader(row.header)));
  }

  #described(row: TurnRow, header: TurnHeader): TurnRecord {
    const atMs = this.#clock.now();
    return {
      ...header,
      graceMs: Math.max(header.graceMs, row.longerGraceMs === endlessGraceMs ? Infinity : row.longerGraceMs),
      turnId: row.turnId,
      createdAtMs: row.createdAtMs,
      caller: row.caller,
      ended: row.outcome !== undefined,
      outcome: row.outcome,
      delivered: row.delivered,
      cancelRequested: row.outcome === undefined ? row.cancelRequested : undefined,
      owner: row.owner,
      degraded: false,
      lastEventId: row.lastSeq === 0 ? startOfLog : eventIdOf(row.lastSeq),
      attachedAtMs: row.attachedAtMs,
      expiresAtMs: row.expiresAtMs ?? expiryOf(atMs, atMs, this.#retention),
    };
  }
}

export function unknownTurn(): MillraceError {
  return new MillraceError("invalid_request", "There is no such turn.", {
    hint: "Check the turn's id; `GET /v1/turns` lists the turns that are kept.",
  });
}
