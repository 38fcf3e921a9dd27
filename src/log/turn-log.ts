import type { Clock } from "../base/clock.ts";
import { isDegraded } from "../base/errors.ts";
import type { TurnId } from "../base/ids.ts";
import { ownTurn, unhurried } from "../base/node/unhurried.ts";
import type { Secret } from "../base/secret.ts";
import { type CancelledBy, eventIdOf, type OutlinedEvent, type TurnEvent } from "./event.ts";
import { messageTo } from "./lease.ts";
import {
  damagedLog,
  expiredTurn,
  type Op,
  pastTheEnd,
  type Row,
  type RowChange,
  type Rows,
  unknownTurn,
  untilRow,
} from "./rows.ts";
import type { StoredEvent } from "./sealed-append.ts";
import { type Access, noTag, type Sealer, tagOf } from "./sealing/sealer.ts";
import {
  type CreateOptions,
  type NewTurn,
  type Retention,
  type TurnFilter,
  type TurnLabel,
  type TurnLookup,
  type TurnRecord,
} from "./store.ts";
import {
  decodeLabel,
  decodeTurn,
  encodeLabel,
  encodeTurn,
  graceOf,
  type LabelFacts,
  labelOf,
  metaOf,
  recordOf,
  storedGrace,
  withoutRequest,
} from "./turn-row.ts";

/** The most that a reader holds at a time, for deltas of any size: this bounds the memory of slow readers. */
export const pageBytes = 256 * 1024;

/** A request longer than this is encoded, sealed and written in different turns of the event loop: 40 MB of images take 0.1 s for each. */
const largeHead = 4 * 1024 * 1024;

/** How many rows a sweep expires at a time. */
const sweptAtOnce = 64;

/** Events of a turn in order; `ended` when nothing can follow the last of them. */
export interface Page<E = TurnEvent> {
  readonly events: readonly E[];
  readonly ended: boolean;
}

/** A turn's facts, where this process has them. */
type InMemory = (turnId: TurnId) => NewTurn | undefined;

/** Turns over rows: seals and checks what is stored, counts expiry, and leaves tombstones. */
export class TurnLog {
  readonly #rows: Rows;
  readonly #sealer: Sealer;
  readonly #clock: Pick<Clock, "now">;
  readonly #retention: Retention;
  readonly #inMemory: InMemory;

  /** What is in memory is not read, opened and parsed again: a prompt may be long. */
  constructor(
    rows: Rows,
    sealer: Sealer,
    {
      clock,
      retention,
    }: {
      readonly clock: Pick<Clock, "now">;
      readonly retention: Retention;
    },
    inMemory: InMemory,
  ) {
    this.#inMemory = inMemory;
    this.#rows = rows;
    this.#sealer = sealer;
    this.#clock = clock;
    this.#retention = retention;
  }

  /** Seals a new turn, whose text is `encodeTurn`. It stores nothing: `insert` does. */
  begin(turn: NewTurn, owner: string, clientKey: Secret | undefined, text = encodeTurn(turn)) {
    const { turnId, createdAtMs, caller, idempotencyKey, fingerprint, session } = turn;
    const { key, box } = this.#sealer.newBox(turnId, clientKey);
    const label = this.#sealer.sealLabel(turnId, "label", encodeLabel(labelOf(turn, clientKey !== undefined)));
    const tags = [this.#tag("caller", caller), this.#tag("body", caller, fingerprint)];
    if (idempotencyKey !== undefined) tags.push(this.#tag("key", caller, idempotencyKey));
    if (session !== undefined) tags.push(this.#tag("session", caller, session));
    const unproven = {
      id: turnId,
      kind: "turn",
      createdAtMs,
      epoch: 1,
      last: 0,
      open: true,
      owner,
      expiresAtMs: undefined,
      tags,
      meta: { caller, key, label, attachedAtMs: createdAtMs },
    } as const;
    const row: Row = { ...unproven, proof: this.#sealer.prove(unproven) };
    return {
      row,
      record: this.#recordOf({ ...turn, messageCount: turn.request.messages.length }, row),
      place: { rows: this.#rows, box, tag: noTag },
      insert: { type: "insert", row, head: box.sealText("head", text) } satisfies Op,
    };
  }

  /** As `LogStore.create`: the new turn, or the record of the one that holds its key. */
  async create(
    turn: NewTurn,
    owner: string,
    { clientKey, flush = true }: CreateOptions,
  ): Promise<ReturnType<TurnLog["begin"]> | { readonly held: TurnRecord }> {
    const text = encodeTurn(turn);
    const isLarge = text.length > largeHead;
    for (;;) {
      if (isLarge) await ownTurn();
      const begun = this.begin(turn, owner, clientKey, text);
      if (isLarge) await ownTurn();
      const outcome = await this.#rows.commit([begun.insert], flush);
      if (outcome.type === "done") return begun;
      if (outcome.by === undefined) continue; // removed since
      const held = await this.#rows.get(outcome.by.id, true);
      if (held === undefined) continue;
      // a changed index could lead to another caller's turn
      if (!held.tags.some((tag) => tag.startsWith("key:") && begun.row.tags.includes(tag))) throw damagedLog();
      await this.#check(held);
      const record = this.#shown(held, { clientKey });
      if (record === undefined) throw unknownTurn();
      return { held: record };
    }
  }

  /** As `LogStore.claim`. */
  async claim(turnId: TurnId, owner: string, from?: string) {
    for (;;) {
      const row = await this.#rows.get(turnId, true);
      if (row?.kind !== "turn" || !row.open || row.owner !== (from ?? row.owner)) return undefined;
      await this.#check(row);
      const box = this.#sealer.open(row, "runner");
      if (box === undefined) throw unknownTurn();
      const { epoch, last } = row;
      const claimed = { ...row, owner, epoch: epoch + 1 };
      const set = { owner, proof: this.#sealer.prove(claimed) };
      const guard = { epoch, last, open: true };
      const outcome = await this.#rows.commit([{ type: "update", id: turnId, guard, claim: true, set }], true);
      if (outcome.type === "refused") continue;
      // read after the claim: a later cancel request goes to the new owner
      const { meta = row.meta } = (await this.#rows.get(turnId)) ?? {};
      const [entry] = last === 0 ? [] : await this.#rows.entries(turnId, last - 1, { count: 1, bytes: 1 });
      const turn = decodeTurn(box.openText("head", headOf(row)));
      const record = this.#recordOf({ ...turn, messageCount: turn.request.messages.length }, { ...claimed, meta });
      const place = { rows: this.#rows, box, tag: entry === undefined ? noTag : tagOf(entry.bytes) };
      return { row: claimed, record, place };
    }
  }

  /** As `LogStore.readAfter`, by number: up to `limit` events after `afterSeq`. */
  async read(turnId: TurnId, afterSeq: number, limit: number, access: Access): Promise<Page> {
    const row = await this.#row(turnId, access);
    const box = this.#sealer.open(row, access);
    if (box === undefined) throw unknownTurn(); // another key: as if it were not there
    if (afterSeq > row.last) throw pastTheEnd();
    const asked = Math.min(limit, row.last - afterSeq);
    const entries = asked === 0 ? [] : await this.#rows.entries(turnId, afterSeq, { count: asked, bytes: pageBytes });
    let tag = afterSeq === 0 ? noTag : undefined;
    const events = entries.map((entry, index): TurnEvent => {
      if (entry.seq !== afterSeq + index + 1) throw damagedLog();
      const { atMs, body } = JSON.parse(box.openEntry(entry, tag)) as StoredEvent; // written by sealedAppend
      tag = tagOf(entry.bytes);
      return { ...body, eventId: eventIdOf(entry.seq), atMs };
    });
    if (events.length < asked) await this.#refuseGap(turnId, afterSeq + events.length);
    return { events, ended: !row.open && afterSeq + events.length === row.last };
  }

  /** Everything that the log holds of a turn now. */
  async readAll(turnId: TurnId, last: number): Promise<readonly TurnEvent[]> {
    const events: TurnEvent[] = [];
    while (events.length < last) events.push(...(await this.read(turnId, events.length, 1024, "runner")).events);
    return events;
  }

  /** As `LogStore.get`. */
  async get(turnId: TurnId, { clientKey, caller }: TurnLookup): Promise<TurnRecord | undefined> {
    const known = this.#inMemory(turnId);
    const there = await this.#rows.get(turnId, known === undefined);
    const row = caller === undefined || (there && metaOf(there).caller) === caller ? there : undefined;
    if (row === undefined || (row.kind === "turn" && !this.#sealer.isProven(row) && !this.#isOurs(row))) {
      this.#sealer.open(undefined, { clientKey }); // takes as long as a turn of another key
      return undefined;
    }
    await this.#check(row);
    return this.#shown(row, { clientKey }, known);
  }

  /** As `LogStore.list`. */
  async list({ caller, fingerprint, session, idempotencyKey, ...filter }: TurnFilter): Promise<readonly TurnLabel[]> {
    const tag =
      caller === undefined
        ? undefined
        : idempotencyKey !== undefined
          ? this.#tag("key", caller, idempotencyKey)
          : fingerprint !== undefined
            ? this.#tag("body", caller, fingerprint)
            : session !== undefined
              ? this.#tag("session", caller, session)
              : this.#tag("caller", caller);
    const found = await this.#rows.find({ kind: "turn", ...filter, ...(tag === undefined ? {} : { tag }) });
    if (tag === undefined) return this.#listed(found);
    // a changed index could lead to another caller's turns
    if (idempotencyKey === undefined) return this.#listed(found.filter(({ tags }) => tags.includes(tag)));
    // A key has at most one turn, and a key whose turn has expired never gets another prompt.
    for (const row of found) {
      if (!row.tags.includes(tag)) throw damagedLog();
      await this.#check(row);
    }
    if (found.length === 0 && (await this.#rows.find({ kind: "tombstone", tag, limit: 1 })).length > 0)
      throw expiredTurn();
    const listed = await this.#listed(found);
    if (listed.length < found.length) throw damagedLog(); // damaged, it still is the key's turn
    return listed;
  }

  /** As `LogStore.getLabel`. */
  async getLabel(turnId: TurnId): Promise<TurnLabel | undefined> {
    const row = await this.#rows.get(turnId);
    if (row === undefined || (row.kind === "turn" && !this.#sealer.isProven(row) && !this.#isOurs(row)))
      return undefined;
    await this.#check(row);
    return this.#label(row);
  }

  /** As `LogStore.listRunning`. */
  async listRunning(options: { readonly exceptOwner?: string }): Promise<readonly TurnLabel[]> {
    const found = await this.#rows.find({ kind: "turn", ...options, open: true, limit: Number.MAX_SAFE_INTEGER });
    return this.#listed(found);
  }

  async oldestRunningMs(): Promise<number> {
    const found = await this.#rows.find({ kind: "turn", open: true, limit: Number.MAX_SAFE_INTEGER });
    return found.at(-1)?.createdAtMs ?? Number.POSITIVE_INFINITY;
  }

  /** Resolves once `holds` is true of the turn's row. Throws when it is unknown, and `expired`. */
  async until(turnId: TurnId, holds: (row: Row) => boolean, signal: AbortSignal): Promise<Row> {
    const row = await untilRow(this.#rows, turnId, (found) => found?.kind !== "turn" || holds(found), signal);
    if (row?.kind === "turn") await this.#check(row);
    return row?.kind === "turn" ? row : this.#row(turnId);
  }

  /**
   * As `LogStore.requestCancel`. `stream` is an operation that is refused if a newer attach has the stream. `isHere`: the writer is
   * in this process, which needs no message.
   */
  async requestCancel(turnId: TurnId, by: CancelledBy, stream: Op | undefined, isHere: boolean): Promise<boolean> {
    for (;;) {
      const row = await this.#row(turnId);
      const ops: Op[] = stream === undefined ? [] : [stream];
      if (row.open && metaOf(row).cancel === undefined) {
        const { epoch, owner } = row;
        ops.push({ type: "update", id: turnId, guard: { epoch, open: true }, set: { meta: { cancel: by } } });
        if (!isHere) ops.push(...(await messageTo(this.#rows, owner, { turnId, by }, this.#clock.now())));
      }
      const outcome = ops.length === 0 ? undefined : await this.#rows.commit(ops, true);
      if (outcome?.type !== "refused") return true;
      if (stream !== undefined && outcome.at === 0) return false;
    }
  }

  /** As `LogStore.noteReader`. */
  async noteReader(turnId: TurnId, atMs: number, graceMs: number | undefined): Promise<void> {
    const row = await this.#row(turnId);
    const longest = Math.max(graceOf(metaOf(row).graceMs), graceMs ?? 0);
    const meta = { attachedAtMs: atMs, ...(graceMs === undefined ? {} : { graceMs: storedGrace(longest) }) };
    await this.#change(row, { meta }, graceMs !== undefined);
  }

  async noteDelivered(turnId: TurnId): Promise<void> {
    await this.#rows.commit([{ type: "update", id: turnId, set: { meta: { delivered: true } } }], false);
  }

  /** As `LogStore.keepTogether`. */
  async keepTogether(turnIds: readonly TurnId[]): Promise<void> {
    const nowMs = this.#clock.now();
    const rows = await Promise.all(turnIds.map((turnId) => this.#rows.get(turnId)));
    const expiresAtMs = rows.at(-1)?.expiresAtMs ?? nowMs + this.#retention.keptMs;
    for (const row of rows) {
      const ends = row?.kind === "turn" && row.expiresAtMs !== undefined && row.expiresAtMs > nowMs;
      if (ends && row.expiresAtMs < expiresAtMs && this.#sealer.isProven(row))
        await this.#change(row, this.#expiring(row, expiresAtMs), false);
    }
  }

  async remove(turnId: TurnId): Promise<void> {
    await this.#rows.commit([{ type: "remove", id: turnId }], true);
  }

  /** Removes a turn, unless another process has taken it over since that claim. */
  async removeOwn(turnId: TurnId, epoch: number): Promise<void> {
    await this.#rows.commit([{ type: "remove", id: turnId, guard: { epoch } }], true);
  }

  async ownerOf(turnId: TurnId): Promise<string | undefined> {
    return (await this.#rows.get(turnId))?.owner;
  }

  /** Leaves a tombstone of each turn and stream that has expired, and removes old tombstones, and leases that ended a day ago. */
  async sweep(nowMs: number): Promise<void> {
    for (const kind of ["turn", "stream"] as const) {
      for (let swept = sweptAtOnce; swept === sweptAtOnce; ) {
        const expired = await this.#rows.find({ kind, expiredAtMs: nowMs, limit: sweptAtOnce });
        await Promise.all(expired.map((row) => this.#bury(row, nowMs)));
        swept = expired.length;
      }
    }
    while ((await this.#rows.sweep(nowMs, ["tombstone"])) > 0) continue;
    while ((await this.#rows.sweep(nowMs - this.#retention.tombstoneMs, ["lease"])) > 0) continue;
  }

  /** Whether the row may no longer be shown. Seen expired once, it stays so: a clock that goes back cannot bring it to life. */
  async hasExpired(row: Row): Promise<boolean> {
    if (row.kind === "tombstone") return true;
    const nowMs = this.#clock.now();
    if (row.expiresAtMs === undefined || row.expiresAtMs > nowMs) return false;
    try {
      await this.#bury(row, nowMs);
    } catch (error) {
      if (!isDegraded(error)) throw error; // a log that can only be read erases later; the row is refused all the same
    }
    return true;
  }

  async #bury({ id, tags, meta, epoch, createdAtMs }: Row, nowMs: number): Promise<void> {
    const tombstone: Row = {
      id,
      kind: "tombstone",
      createdAtMs,
      epoch,
      last: 0,
      open: false,
      owner: "",
      expiresAtMs: nowMs + this.#retention.tombstoneMs,
      tags: tags.filter((tag) => tag.startsWith("key:")),
      meta: { caller: meta["caller"] },
      proof: noTag,
    };
    const insert: Op = { type: "insert", row: tombstone, head: new Uint8Array(0) };
    await this.#rows.commit([{ type: "remove", id, guard: { epoch } }, insert], false);
  }

  #tag(name: "caller" | "body" | "key" | "session", ...values: readonly string[]): string {
    return `${name}:${this.#sealer.digest(name, ...values)}`;
  }

  /** The row of a turn that may be used. Throws when it is unknown, `expired` or damaged. */
  async #row(turnId: TurnId, access?: Access): Promise<Row> {
    const row = await this.#rows.get(turnId);
    if (row === undefined) {
      if (access !== undefined) this.#sealer.open(undefined, access); // takes as long as a turn of another key
      throw unknownTurn();
    }
    await this.#check(row);
    return row;
  }

  /** Throws `expired`, and `internal` if a column was changed that decides who may read the turn. */
  async #check(row: Row): Promise<void> {
    if (row.kind === "tombstone") throw expiredTurn();
    if (row.kind !== "turn") throw unknownTurn();
    if (!this.#sealer.isProven(row)) throw this.#isOurs(row) ? damagedLog() : unknownTurn();
    if (await this.hasExpired(row)) throw expiredTurn();
  }

  /** False if the gateway's key is another one now. */
  #isOurs(row: Row): boolean {
    return this.#sealer.open(row, "runner") !== undefined || this.#sealer.openLabel(row, "label") !== undefined;
  }

  /** The labels of turns that may be shown. One that was changed or damaged is left out. */
  async #listed(found: readonly Row[]): Promise<readonly TurnLabel[]> {
    const nowMs = this.#clock.now();
    const listed: TurnLabel[] = [];
    for await (const row of unhurried(found)) {
      if ((row.expiresAtMs ?? Infinity) <= nowMs || !this.#sealer.isProven(row)) continue;
      const label = this.#label(row);
      if (label !== undefined) listed.push(label);
    }
    return listed;
  }

  /** What the row says of its turn, without the request; undefined if it was changed or damaged. */
  #label(row: Row): TurnLabel | undefined {
    const text = this.#sealer.openLabel(row, "label");
    if (text === undefined) return undefined;
    const isSealed = this.#sealer.open(row, {}) === undefined;
    const label = this.#recordOf(decodeLabel(text), row);
    return isSealed ? { ...label, sealed: true } : label;
  }

  /** The part of the turn that may be seen: all of it, nothing, or only the label if a client sealed it and no key was given. */
  #shown(row: Row, access: Access, known?: NewTurn): TurnRecord | undefined {
    const box = this.#sealer.open(row, access);
    if (box !== undefined) {
      const turn = known ?? decodeTurn(box.openText("head", headOf(row)));
      return this.#recordOf({ ...turn, messageCount: turn.request.messages.length }, row);
    }
    const label = access === "runner" || access.clientKey !== undefined ? undefined : this.#label(row);
    return label && withoutRequest(label);
  }

  #recordOf<Facts extends LabelFacts>(facts: Facts, row: Row): Facts & TurnLabel {
    const text = row.open ? undefined : this.#sealer.openLabel(row, "outline");
    const outline = text === undefined ? undefined : (JSON.parse(text) as readonly OutlinedEvent[]); // written by sealedAppend
    return recordOf(facts, row, outline, this.#clock.now(), this.#retention);
  }

  #expiring(row: Row, expiresAtMs: number): Pick<RowChange, "expiresAtMs" | "proof"> {
    return { expiresAtMs, proof: this.#sealer.prove({ ...row, expiresAtMs }) };
  }

  /** A proof fits one state of the row: if the row has changed since it was read, nothing is written. */
  async #change({ id, epoch, last, open }: Row, set: RowChange, flush: boolean): Promise<void> {
    const guard = set.proof === undefined ? { epoch } : { epoch, last, open };
    await this.#rows.commit([{ type: "update", id, guard, set }], flush);
  }

  /** A page may end early if it was full, or if the turn is gone; else entries are missing. */
  async #refuseGap(turnId: TurnId, afterSeq: number): Promise<void> {
    if ((await this.#rows.entries(turnId, afterSeq, { count: 1, bytes: 1 })).length > 0) return;
    await this.#row(turnId);
    throw damagedLog();
  }
}

function headOf({ head }: Row): Uint8Array {
  if (head === undefined) throw damagedLog();
  return head;
}
