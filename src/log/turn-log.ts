import type { EventId, TurnId } from "../base/ids.ts";
import { ownTurn } from "../base/node/unhurried.ts";
import type { Secret } from "../base/secret.ts";
import { type CancelledBy, eventIdOf, seqIn, type TurnEvent } from "./event.ts";
import { largeParts, storeParts } from "./large-texts.ts";
import { emptyRow, type Medium } from "./medium.ts";
import {
  damagedLog,
  formInParts,
  homeOf,
  type Op,
  type Row,
  type RowChange,
  removal,
  rowForm,
  unknownTurn,
  untilRow,
} from "./rows.ts";
import type { StoredEvent } from "./sealed-append.ts";
import { type Access, noTag, tagOf } from "./sealing/sealer.ts";
import type { CreateOptions, NewTurn, TurnRecord } from "./store.ts";
import { encodeLabel, encodeTurn, graceOf, labelOf, metaOf, storedGrace } from "./turn-row.ts";
import type { TurnRows } from "./turn-rows.ts";

/** The most that a reader holds at a time, for deltas of any size: this bounds the memory of slow readers. */
export const pageBytes = 256 * 1024;

/** Opening so many bytes takes some milliseconds, so a reader of many pages lets others go between them. */
const largePage = pageBytes / 4;

/** Events of a turn in order; `ended` when nothing can follow the last of them. */
export interface Page<E = TurnEvent> {
  readonly events: readonly E[];
  readonly ended: boolean;
}

/** The logs of turns: seals what is written, and checks what is read. */
export class TurnLog {
  readonly #medium: Medium;
  readonly #turns: TurnRows;

  constructor(medium: Medium, turns: TurnRows) {
    this.#medium = medium;
    this.#turns = turns;
  }

  /** Seals a new turn. It stores nothing: `storing` does. */
  begin(turn: NewTurn, owner: string, clientKey: Secret | undefined) {
    const { turnId, createdAtMs, caller, idempotencyKey, fingerprint, session } = turn;
    const { key, box } = this.#medium.sealer.newBox(turnId, clientKey);
    const label = this.#medium.sealer.sealLabel(turnId, "label", encodeLabel(labelOf(turn, clientKey !== undefined)));
    const tags = [this.#turns.tag("caller", caller), this.#turns.tag("body", caller, fingerprint)];
    if (idempotencyKey !== undefined) tags.push(this.#turns.tag("key", caller, idempotencyKey));
    if (session !== undefined) tags.push(this.#turns.tag("session", caller, session));
    const texts = encodeTurn(turn);
    const parts = largeParts(texts);
    const attachedAtMs = this.#medium.clock.now(); // its home's clock may be another
    const meta = { form: parts === undefined ? rowForm : formInParts, caller, key, label, attachedAtMs };
    const begun = { id: turnId, kind: "turn", createdAtMs, open: true, owner, expiresAtMs: undefined } as const;
    const row = this.#medium.sealer.proven({ ...emptyRow, ...begun, tags, meta });
    const head = parts === undefined ? texts[0] : JSON.stringify(parts.map(({ length }) => length));
    return {
      row,
      record: this.#turns.recordOf({ ...turn, messageCount: turn.request.messages.length }, row),
      chain: { box, tag: noTag },
      insert: { type: "insert", row, head: box.sealText("head", head) } satisfies Op,
      parts,
    };
  }

  /** The operations that store a turn. The parts of a large request are stored now. */
  async storing({ insert, parts, chain }: ReturnType<TurnLog["begin"]>): Promise<readonly Op[]> {
    if (parts === undefined) return [insert];
    const place = { what: "request", of: insert.row.id, box: chain.box } as const;
    return [insert, await storeParts(this.#medium, place, parts.flat())];
  }

  /** As `LogStore.create`: the new turn, or the record of the one that holds its key. */
  async create(
    turn: NewTurn,
    owner: string,
    { clientKey, flush = true }: CreateOptions,
  ): Promise<ReturnType<TurnLog["begin"]> | { readonly held: TurnRecord }> {
    for (;;) {
      const begun = this.begin(turn, owner, clientKey);
      const outcome = await this.#medium.rows.commit(await this.storing(begun), flush);
      if (outcome.type === "done") return begun;
      if (outcome.by === undefined) continue; // removed since
      const held = await this.#medium.rows.get(outcome.by.id, true);
      if (held === undefined) continue;
      // a changed index could lead to another caller's turn
      if (!held.tags.some((tag) => tag.startsWith("key:") && begun.row.tags.includes(tag))) throw damagedLog();
      await this.#turns.check(held);
      const record = await this.#turns.shown(held, { clientKey });
      if (record === undefined) throw unknownTurn();
      return { held: record };
    }
  }

  /** As `LogStore.claim`. `isLeft`: only while the home of its owner is gone. */
  async claim(turnId: TurnId, owner: string, isLeft = false) {
    for (;;) {
      const row = await this.#medium.rows.get(turnId, true);
      if (row?.kind !== "turn" || !row.open) return undefined;
      await this.#turns.check(row);
      const box = this.#medium.sealer.open(row, "runner");
      if (box === undefined) throw unknownTurn();
      const { epoch, last } = row;
      const claimed = { ...row, owner, epoch: epoch + 1 };
      const { claims = [] } = metaOf(row);
      const meta = { claims: Array.from({ length: epoch }, (_, nth) => claims[nth] ?? last) }; // earlier builds noted none
      const set = { owner, proof: this.#medium.sealer.prove(claimed), meta };
      const guard = { epoch, last, open: true, ...(isLeft && { goneHome: homeOf(row.owner) }) };
      const outcome = await this.#medium.rows.commit([{ type: "update", id: turnId, guard, claim: true, set }], true);
      if (outcome.type === "refused" && isLeft) return undefined; // it was taken, or its home is back: the next look sees that
      if (outcome.type === "refused") continue;
      // read after the claim: a later cancel request goes to the new owner
      const now = (await this.#medium.rows.get(turnId)) ?? { meta: { ...row.meta, ...meta } };
      const [entry] = last === 0 ? [] : await this.#medium.rows.entries(turnId, last - 1, { count: 1, bytes: 1 });
      const turn = await this.#turns.factsOf(row, box);
      const record = this.#turns.recordOf(
        { ...turn, messageCount: turn.request.messages.length },
        { ...claimed, meta: now.meta },
      );
      const chain = { box, tag: entry === undefined ? noTag : tagOf(entry.bytes) };
      return { row: claimed, record, chain };
    }
  }

  /** As `LogStore.readAfter`: up to `limit` events. */
  async read(turnId: TurnId, after: EventId, limit: number, access: Access): Promise<Page> {
    const row = await this.#turns.usable(turnId, access);
    const box = this.#medium.sealer.open(row, access);
    if (box === undefined) throw unknownTurn(); // another key: as if it were not there
    const { claims } = metaOf(row);
    const afterSeq = seqIn({ lastEventId: eventIdOf(row.last, claims), claims }, after);
    const asked = Math.min(limit, row.last - afterSeq);
    const entries =
      asked === 0 ? [] : await this.#medium.rows.entries(turnId, afterSeq, { count: asked, bytes: pageBytes });
    if (entries.reduce((sum, { bytes }) => sum + bytes.length, 0) > largePage) await ownTurn();
    let tag = afterSeq === 0 ? noTag : undefined;
    const events: TurnEvent[] = [];
    for (const [index, entry] of entries.entries()) {
      if (entry.seq !== afterSeq + index + 1) throw damagedLog();
      const { atMs, body, textParts } = JSON.parse(box.openEntry(entry, tag)) as StoredEvent; // written by sealedAppend
      tag = tagOf(entry.bytes);
      const [text = ""] = textParts === undefined ? [] : await this.#turns.texts("end", turnId, box, [textParts]);
      const whole = textParts !== undefined && body.type === "finished" ? { ...body, text } : body;
      events.push({ ...whole, eventId: eventIdOf(entry.seq, claims), atMs });
    }
    if (events.length < asked) await this.#refuseGap(turnId, afterSeq + events.length);
    return { events, ended: !row.open && afterSeq + events.length === row.last };
  }

  /** Resolves once `holds` is true of the turn's row. Throws when it is unknown, and `expired`. */
  async until(turnId: TurnId, holds: (row: Row) => boolean, signal: AbortSignal): Promise<Row> {
    const row = await untilRow(this.#medium.rows, turnId, (found) => found?.kind !== "turn" || holds(found), signal);
    if (row?.kind === "turn") await this.#turns.check(row);
    return row?.kind === "turn" ? row : this.#turns.usable(turnId);
  }

  /**
   * As `LogStore.requestCancel`. `stream` is an operation that is refused if a newer attach has the stream.
   */
  async requestCancel(turnId: TurnId, by: CancelledBy, stream: Op | undefined): Promise<boolean> {
    for (;;) {
      const row = await this.#turns.usable(turnId);
      const ops: Op[] = stream === undefined ? [] : [stream];
      if (row.open && metaOf(row).cancel === undefined) {
        const guard = { epoch: row.epoch, open: true };
        ops.push({ type: "update", id: turnId, guard, set: { meta: { cancel: by } } });
      }
      const outcome = ops.length === 0 ? undefined : await this.#medium.rows.commit(ops, true);
      if (outcome?.type !== "refused") return true;
      if (stream !== undefined && outcome.at === 0) return false;
    }
  }

  /** As `LogStore.noteReader`. */
  async noteReader(turnId: TurnId, atMs: number, graceMs: number | undefined): Promise<void> {
    const row = await this.#turns.usable(turnId);
    const longest = Math.max(graceOf(metaOf(row).graceMs), graceMs ?? 0);
    const meta = { attachedAtMs: atMs, ...(graceMs === undefined ? {} : { graceMs: storedGrace(longest) }) };
    await this.#change(row, { meta }, graceMs !== undefined);
  }

  async noteDelivered(turnId: TurnId): Promise<void> {
    await this.#medium.rows.commit([{ type: "update", id: turnId, set: { meta: { delivered: true } } }], false);
  }

  /** As `LogStore.keepTogether`. */
  async keepTogether(turnIds: readonly TurnId[]): Promise<void> {
    const nowMs = this.#medium.clock.now();
    const rows = await Promise.all(turnIds.map((turnId) => this.#medium.rows.get(turnId)));
    const expiresAtMs = rows.at(-1)?.expiresAtMs ?? nowMs + this.#medium.retention.keptMs;
    for (const row of rows) {
      const ends = row?.kind === "turn" && row.expiresAtMs !== undefined && row.expiresAtMs > nowMs;
      if (ends && row.expiresAtMs < expiresAtMs && this.#medium.sealer.isProven(row))
        await this.#change(row, this.#expiring(row, expiresAtMs), false);
    }
  }

  /** Removes a turn; with an epoch, unless another process has taken it over since that claim. */
  async remove(id: TurnId, epoch?: number): Promise<void> {
    await this.#medium.rows.commit(removal({ id, kind: "turn", ...(epoch !== undefined && { epoch }) }), true);
  }

  #expiring(row: Row, expiresAtMs: number): Pick<RowChange, "expiresAtMs" | "proof"> {
    return { expiresAtMs, proof: this.#medium.sealer.prove({ ...row, expiresAtMs }) };
  }

  /** A proof fits one state of the row: if the row has changed since it was read, nothing is written. */
  async #change({ id, epoch, last, open }: Row, set: RowChange, flush: boolean): Promise<void> {
    const guard = set.proof === undefined ? { epoch } : { epoch, last, open };
    await this.#medium.rows.commit([{ type: "update", id, guard, set }], flush);
  }

  /** A page may end early if it was full, or if the turn is gone; else entries are missing. */
  async #refuseGap(turnId: TurnId, afterSeq: number): Promise<void> {
    if ((await this.#medium.rows.entries(turnId, afterSeq, { count: 1, bytes: 1 })).length > 0) return;
    await this.#turns.usable(turnId);
    throw damagedLog();
  }
}
