import type { TurnId } from "../base/ids.ts";
import { unhurried } from "../base/node/unhurried.ts";
import type { OutlinedEvent } from "./event.ts";
import { readParts } from "./large-texts.ts";
import type { Medium } from "./medium.ts";
import {
  damagedLog,
  expiredTurn,
  formInParts,
  formOf,
  type InParts,
  otherForm,
  type Row,
  unknownTurn,
} from "./rows.ts";
import type { Access, RowBox } from "./sealing/sealer.ts";
import type { NewTurn, TurnFilter, TurnLabel, TurnLookup, TurnRecord } from "./store.ts";
import { decodeLabel, decodeTurn, type LabelFacts, labelOf, metaOf, recordOf, withoutRequest } from "./turn-row.ts";

/** A turn's facts, where this process has them. */
type InMemory = (turnId: TurnId) => NewTurn | undefined;

/** The rows of turns as records and labels. A row that was changed, has expired or is another's is never used. */
export class TurnRows {
  readonly #medium: Medium;
  readonly #inMemory: InMemory;

  /** What is in memory is not read, opened and parsed again: a prompt may be long. */
  constructor(medium: Medium, inMemory: InMemory) {
    this.#medium = medium;
    this.#inMemory = inMemory;
  }

  /** As `LogStore.get`. */
  async get(turnId: TurnId, { clientKey, caller }: TurnLookup): Promise<TurnRecord | undefined> {
    const known = this.#inMemory(turnId);
    const there = await this.#medium.rows.get(turnId, known === undefined);
    const row = caller === undefined || (there && metaOf(there).caller) === caller ? there : undefined;
    if (row === undefined || this.#isForeign(row)) {
      this.#medium.sealer.open(undefined, { clientKey }); // takes as long as a turn of another key
      return undefined;
    }
    await this.check(row);
    return this.shown(row, { clientKey }, known);
  }

  /** As `LogStore.list`. */
  async list({ caller, fingerprint, session, idempotencyKey, ...filter }: TurnFilter): Promise<readonly TurnLabel[]> {
    const tag =
      caller === undefined
        ? undefined
        : idempotencyKey !== undefined
          ? this.tag("key", caller, idempotencyKey)
          : fingerprint !== undefined
            ? this.tag("body", caller, fingerprint)
            : session !== undefined
              ? this.tag("session", caller, session)
              : this.tag("caller", caller);
    const found = await this.#medium.rows.find({ kind: "turn", ...filter, ...(tag === undefined ? {} : { tag }) });
    if (tag === undefined) return this.#listed(found);
    // a changed index could lead to another caller's turns
    if (idempotencyKey === undefined) return this.#listed(found.filter(({ tags }) => tags.includes(tag)));
    // A key has at most one turn, and a key whose turn has expired never gets another prompt.
    for (const row of found) {
      if (!row.tags.includes(tag)) throw damagedLog();
      await this.check(row);
    }
    if (found.length === 0 && (await this.#medium.rows.find({ kind: "tombstone", tag, limit: 1 })).length > 0)
      throw expiredTurn();
    const listed = await this.#listed(found);
    if (listed.length < found.length) throw damagedLog(); // damaged, it still is the key's turn
    return listed;
  }

  /** As `LogStore.getLabel`. */
  async getLabel(turnId: TurnId): Promise<TurnLabel | undefined> {
    const row = await this.#medium.rows.get(turnId);
    if (row === undefined || this.#isForeign(row)) return undefined;
    await this.check(row);
    return this.#labelOf(row);
  }

  /** As `LogStore.listRunning`. */
  async listRunning(): Promise<readonly TurnLabel[]> {
    const found = await this.#medium.rows.find({ kind: "turn", open: true, limit: Number.MAX_SAFE_INTEGER });
    return this.#listed(found);
  }

  async oldestRunningMs(): Promise<number> {
    const found = await this.#medium.rows.find({ kind: "turn", open: true, limit: Number.MAX_SAFE_INTEGER });
    return found.findLast((row) => this.#isReadable(row))?.createdAtMs ?? Number.POSITIVE_INFINITY;
  }

  tag(name: "caller" | "body" | "key" | "session", ...values: readonly string[]): string {
    return `${name}:${this.#medium.sealer.digest(name, ...values)}`;
  }

  /** The row of a turn that may be used. Throws when it is unknown, `expired` or damaged. */
  async usable(turnId: TurnId, access?: Access): Promise<Row> {
    const row = await this.#medium.rows.get(turnId);
    if (row === undefined) {
      if (access !== undefined) this.#medium.sealer.open(undefined, access); // takes as long as a turn of another key
      throw unknownTurn();
    }
    await this.check(row);
    return row;
  }

  /** Throws `expired`, also for a row of another form, and `internal` if a column was changed that decides who may read the turn. */
  async check(row: Row): Promise<void> {
    if (row.kind === "tombstone") throw expiredTurn();
    if (row.kind !== "turn" || this.#isForeign(row)) throw unknownTurn();
    if (!this.#isReadable(row)) throw formOf(row) > formInParts ? otherForm() : damagedLog();
    if (await this.#medium.hasExpired(row)) throw expiredTurn();
  }

  /** A later form may be proven and mean something else; an earlier one that is proven is the same. */
  #isReadable(row: Row): boolean {
    return formOf(row) <= formInParts && this.#medium.sealer.isProven(row);
  }

  /** Whether the gateway's key was another one when the row was written. */
  #isForeign(row: Row): boolean {
    const { sealer } = this.#medium;
    if (row.kind !== "turn" || formOf(row) > formInParts || sealer.isProven(row)) return false;
    return sealer.open(row, "runner") === undefined && sealer.openLabel(row, "label") === undefined;
  }

  /** The labels of turns that may be shown. One of another form, changed or damaged is left out. */
  async #listed(found: readonly Row[]): Promise<readonly TurnLabel[]> {
    const nowMs = this.#medium.clock.now();
    const listed: TurnLabel[] = [];
    for await (const row of unhurried(found)) {
      if ((row.expiresAtMs ?? Infinity) <= nowMs || !this.#isReadable(row)) continue;
      const label = await this.#labelOf(row);
      if (label !== undefined) listed.push(label);
    }
    return listed;
  }

  /** Builds before labels stored none of turns that no client sealed: there the request says it. */
  async #labelOf(row: Row): Promise<TurnLabel | undefined> {
    if (!isUnlabelled(row)) return this.#label(row);
    const box = this.#medium.sealer.open(row, {});
    const whole = await this.#medium.rows.get(row.id, true);
    if (box === undefined || whole === undefined) return undefined;
    try {
      return this.recordOf(labelOf(await this.factsOf(whole, box), false), row);
    } catch {
      return undefined; // damaged
    }
  }

  /** What the row says of its turn, without the request; undefined if it was changed or damaged. */
  #label(row: Row): TurnLabel | undefined {
    const text = this.#medium.sealer.openLabel(row, "label");
    if (text === undefined) return undefined;
    const isSealed = this.#medium.sealer.open(row, {}) === undefined;
    const label = this.recordOf(decodeLabel(text), row);
    return isSealed ? { ...label, sealed: true } : label;
  }

  /** The part of the turn that may be seen: all of it, nothing, or only the label if a client sealed it and no key was given. */
  async shown(row: Row, access: Access, known?: NewTurn): Promise<TurnRecord | undefined> {
    const box = this.#medium.sealer.open(row, access);
    if (box !== undefined) {
      const turn = known ?? (await this.factsOf(row, box));
      return this.recordOf({ ...turn, messageCount: turn.request.messages.length }, row);
    }
    const label = access === "runner" || access.clientKey !== undefined ? undefined : this.#label(row);
    return label && withoutRequest(label);
  }

  /** A turn's facts. Builds before labels made the digest of a body in another way, so it says nothing here. */
  async factsOf(row: Row, box: RowBox): Promise<NewTurn> {
    if (row.head === undefined) throw damagedLog();
    const head = box.openText("head", row.head);
    const isApart = head.startsWith("["); // then it says how many parts each text has
    const texts = isApart ? await this.texts("request", row.id as TurnId, box, JSON.parse(head) as number[]) : [head];
    const turn = decodeTurn(row.id, texts);
    return isUnlabelled(row) ? { ...turn, fingerprint: "" } : turn;
  }

  /** What stands in parts. Throws as `usable` where the turn has gone meanwhile, and `internal` where a part is missing. */
  async texts(what: InParts, turnId: TurnId, box: RowBox, counts: readonly number[]): Promise<readonly string[]> {
    const texts = await readParts(this.#medium, { what, of: turnId, box }, counts);
    if (texts === undefined) await this.usable(turnId);
    if (texts === undefined) throw damagedLog();
    return texts;
  }

  recordOf<Facts extends LabelFacts>(facts: Facts, row: Row): Facts & TurnLabel {
    const text = row.open ? undefined : this.#medium.sealer.openLabel(row, "outline");
    const outline = text === undefined ? undefined : (JSON.parse(text) as readonly OutlinedEvent[]); // written by sealedAppend
    return recordOf(facts, row, outline, this.#medium.clock.now(), this.#medium.retention);
  }
}

/** Whether a build before labels wrote the row of a turn that no client sealed. */
function isUnlabelled(row: Row): boolean {
  return metaOf(row).label === undefined && row.meta["form"] === undefined;
}
