import { createHash, randomBytes } from "node:crypto";
import { MillraceError } from "../base/errors.ts";
import type { TurnId } from "../base/ids.ts";
import { Secret } from "../base/secret.ts";
import { base64Parts, partBytes, readParts, storeParts } from "./large-texts.ts";
import { emptyRow, type Medium } from "./medium.ts";
import {
  apartOf,
  damagedLog,
  type Entry,
  formInParts,
  formOf,
  type InParts,
  type Op,
  otherForm,
  partsOf,
  type Row,
  rowForm,
  untilRow,
} from "./rows.ts";
import { noTag, type RowBox } from "./sealing/sealer.ts";
import type {
  AcceptedMessage,
  AttachedStream,
  AttachIntent,
  StreamHolder,
  StreamMessage,
  StreamName,
} from "./store.ts";
import { pageBytes } from "./turn-log.ts";

/** How many streams are remembered as seen. */
const mostSeen = 10_000;

/** So many welcomes may be lost, or come for a late attach, one after the other. */
const mostBeside = 16;

/** Stored for an attach without a ticket. */
const noTicket = "";

interface StreamMeta {
  readonly caller: string;
  readonly key: string;
  /** Digests of the ticket that was handed out last, of the one that was spent for it, and of others that were handed out for the same one. */
  readonly ticket: string;
  readonly ticketBefore: string;
  readonly ticketsBeside?: readonly string[];
}

interface StoredMessage {
  /** Empty where it stands in parts. */
  readonly base64: string;
  readonly turnId: TurnId | undefined;
  readonly apart?: { readonly what: InParts; readonly parts: number };
}

/** The outcome of a message, without the turn that it started. */
export type MessageOutcome = "admitted" | "repeated" | "conflict" | "gap" | "fenced";

/** Clients' streams over rows: an attach claims the row, and a message is an entry. */
export class Streams {
  readonly #medium: Medium;
  /** What seals clients' messages on attached streams; dropped with the last reference to the stream's name. */
  readonly #boxes = new WeakMap<StreamName, RowBox>();
  /** What was read of attached streams: their messages never change, so a later look reads only those that came since. */
  readonly #read = new WeakMap<StreamName, readonly AcceptedMessage[]>();
  /** Ids of streams that were seen here, for when the medium cannot be read; the oldest are forgotten first. */
  readonly #seen = new Set<string>();

  constructor(medium: Medium) {
    this.#medium = medium;
  }

  /** As `LogStore.attachStream`. */
  async attach(name: StreamName, intent: AttachIntent, ticket: Secret | undefined): Promise<AttachedStream> {
    const id = this.#idOf(name);
    const next = new Secret(randomBytes(32).toString("base64url"));
    for (;;) {
      const row = await this.#medium.rows.get(id);
      if (row !== undefined && (await this.#isOver(row))) throw expiredStream();
      if (row === undefined && intent !== "create") throw expiredStream();
      const attached =
        row === undefined ? await this.#create(id, name, next) : await this.#take(row, intent, { ticket, next });
      if (attached === undefined) continue; // another attach was faster
      const box = this.#medium.sealer.open(attached, { clientKey: name.clientKey });
      if (box === undefined) throw expiredStream(); // the gateway's own key is another one now
      this.#boxes.set(name, box);
      this.#see(id);
      return {
        name,
        epoch: attached.epoch,
        accepted: await this.#messages(name, attached, box),
        expiresAtMs: attached.expiresAtMs ?? 0,
        nextTicket: intent === "observe" ? undefined : next,
        degraded: false,
      };
    }
  }

  /** As `LogStore.admit`: `start.storing` stores the turn that the message starts. */
  async admit(
    { name, epoch }: StreamHolder,
    { seqno, payload }: StreamMessage,
    start?: { readonly turnId: TurnId; readonly storing: readonly Op[] },
  ): Promise<MessageOutcome> {
    const id = this.#idOf(name);
    const box = this.#boxes.get(name);
    if (box === undefined) throw expiredStream(); // not attached here, so there is nothing that it could add to
    let apart: { readonly place: NonNullable<StoredMessage["apart"]>; readonly keeping: Op } | undefined;
    for (;;) {
      const row = await this.#medium.rows.get(id);
      if (row === undefined || (await this.#isOver(row))) throw expiredStream();
      if (row.epoch !== epoch) return "fenced";
      if (seqno > row.last) return "gap";
      if (seqno < row.last) {
        const [entry] = await this.#medium.rows.entries(id, seqno, { count: 1, bytes: 1 });
        if (entry === undefined) throw damagedLog();
        return Buffer.compare((await this.#opened(row, box, entry)).payload, payload) === 0 ? "repeated" : "conflict";
      }
      if (payload.length > partBytes) apart ??= await this.#storeApart(row, box, payload);
      const expiresAtMs = this.#medium.clock.now() + this.#medium.retention.keptMs;
      const proof = this.#medium.sealer.prove({ ...row, last: seqno + 1, expiresAtMs });
      const base64 = apart === undefined ? Buffer.from(payload).toString("base64") : "";
      const stored: StoredMessage = { base64, turnId: start?.turnId, ...(apart && { apart: apart.place }) };
      const meta = apart && { form: formInParts, apart: [...apartOf(row), partsOf(apart.place.what, id)] };
      const set = { expiresAtMs, proof, ...(meta && { meta }) };
      const entries = [box.sealText(`message ${seqno}`, JSON.stringify(stored))];
      const message: Op = { type: "update", id, guard: { epoch, last: seqno }, set, entries };
      const keeping = apart === undefined ? [] : [apart.keeping];
      const outcome = await this.#medium.rows.commit([message, ...(start?.storing ?? []), ...keeping], true);
      if (outcome.type === "done") return "admitted";
      if (outcome.at > 0) throw new MillraceError("internal", "The turn of this message is there already.");
    }
  }

  /** Stores the next message of the stream in parts, of a name that no other attempt to store it has. */
  async #storeApart({ id, last }: Row, box: RowBox, payload: Uint8Array) {
    const what = `message ${last} ${randomBytes(9).toString("base64url")}` as const;
    const keeping = await storeParts(this.#medium, { what, of: id, box }, base64Parts(payload));
    return { place: { what, parts: Math.ceil(payload.length / partBytes) }, keeping };
  }

  /** An operation that is refused if a newer attach has the stream. */
  held({ name, epoch }: StreamHolder): Op {
    return { type: "update", id: this.#idOf(name), guard: { epoch } };
  }

  async isHeld({ name, epoch }: StreamHolder): Promise<boolean> {
    return (await this.#medium.rows.get(this.#idOf(name)))?.epoch === epoch;
  }

  /** Whether this process has seen the stream here. */
  wasSeen(name: StreamName): boolean {
    return this.#seen.has(this.#idOf(name));
  }

  /** Whether there is such a stream, or its tombstone. */
  async has(name: StreamName): Promise<boolean> {
    return (await this.#medium.rows.get(this.#idOf(name))) !== undefined;
  }

  /** As `LogStore.untilSuperseded`. */
  async untilSuperseded({ name, epoch }: StreamHolder, signal: AbortSignal): Promise<void> {
    await untilRow(this.#medium.rows, this.#idOf(name), (row) => row?.epoch !== epoch, signal);
  }

  #see(id: string): void {
    this.#seen.delete(id);
    this.#seen.add(id);
    const [oldest] = this.#seen;
    if (this.#seen.size > mostSeen && oldest !== undefined) this.#seen.delete(oldest);
  }

  async #isOver(row: Row): Promise<boolean> {
    if (row.kind === "stream" && formOf(row) > formInParts) throw otherForm();
    if (row.kind === "stream" && !this.#medium.sealer.isProven(row)) throw damagedLog();
    return this.#medium.hasExpired(row);
  }

  /** Undefined if it is there by now. */
  async #create(id: string, { caller, clientKey }: StreamName, next: Secret): Promise<Row | undefined> {
    const { key } = this.#medium.sealer.newBox(id, clientKey);
    const meta: StreamMeta = {
      caller,
      key: this.#medium.sealer.closedKey({ meta: { key } }) ?? key,
      ticket: this.#ticketDigest(id, next),
      ticketBefore: noTicket,
    };
    const nowMs = this.#medium.clock.now();
    const expiresAtMs = nowMs + this.#medium.retention.keptMs;
    const begun = { id, kind: "stream", createdAtMs: nowMs, open: true, expiresAtMs } as const;
    const row = this.#medium.sealer.proven({ ...emptyRow, ...begun, meta: { form: rowForm, ...meta } });
    const outcome = await this.#medium.rows.commit([{ type: "insert", row, head: noTag }], true);
    return outcome.type === "done" ? row : undefined;
  }

  /** The row after the attach; undefined if it has changed meanwhile. A ticket that was spent before still ends the attach that writes. */
  async #take(
    row: Row,
    intent: AttachIntent,
    { ticket, next }: { readonly ticket: Secret | undefined; readonly next: Secret },
  ): Promise<Row | undefined> {
    if (intent === "observe") return row;
    const { id, epoch, last } = row;
    const held = row.meta as unknown as StreamMeta; // written by `#create`
    const given = ticket === undefined ? noTicket : this.#ticketDigest(id, ticket);
    const { ticketBefore, ticketsBeside = [] } = held;
    const isSpent = given !== held.ticket && given !== ticketBefore && !ticketsBeside.includes(given);
    const beside = given === ticketBefore ? [held.ticket, ...ticketsBeside].slice(0, mostBeside) : [];
    const expiresAtMs = isSpent ? row.expiresAtMs : this.#medium.clock.now() + this.#medium.retention.keptMs;
    const ticketAfter = this.#ticketDigest(id, next);
    const tickets = isSpent ? {} : { ticket: ticketAfter, ticketBefore: given, ticketsBeside: beside };
    const taken = { ...row, epoch: epoch + 1, expiresAtMs, meta: { ...row.meta, ...tickets } };
    const set = { expiresAtMs: expiresAtMs ?? null, meta: tickets, proof: this.#medium.sealer.prove(taken) };
    const outcome = await this.#medium.rows.commit(
      [{ type: "update", id, guard: { epoch, last }, claim: true, set }],
      true,
    );
    if (outcome.type === "refused") return undefined;
    if (isSpent) throw spentTicket();
    return taken;
  }

  async #messages(name: StreamName, row: Row, box: RowBox): Promise<readonly AcceptedMessage[]> {
    const accepted: AcceptedMessage[] = row.last === 0 ? [] : [...(this.#read.get(name) ?? [])];
    while (accepted.length < row.last) {
      const entries = await this.#medium.rows.entries(row.id, accepted.length, {
        count: row.last - accepted.length,
        bytes: pageBytes,
      });
      if (entries.length === 0) throw damagedLog();
      for (const entry of entries) accepted.push(await this.#opened(row, box, entry));
    }
    this.#read.set(name, accepted);
    return accepted;
  }

  async #opened({ id }: Row, box: RowBox, { seq, bytes }: Entry): Promise<AcceptedMessage> {
    const seqno = seq - 1;
    const { base64, turnId, apart } = JSON.parse(box.openText(`message ${seqno}`, bytes)) as StoredMessage; // sealed by admit
    const counts = Array.from({ length: apart?.parts ?? 0 }, () => 1);
    const texts = apart && (await readParts(this.#medium, { what: apart.what, of: id, box }, counts));
    if (apart !== undefined && texts === undefined)
      throw (await this.#medium.rows.get(id))?.kind === "stream" ? damagedLog() : expiredStream();
    const pieces = (texts ?? [base64]).map((text) => Buffer.from(text, "base64"));
    return { seqno, payload: Buffer.concat(pieces), turnId };
  }

  #ticketDigest(id: string, ticket: Secret): string {
    return this.#medium.sealer.digest("ticket", id, createHash("sha256").update(ticket.reveal()).digest("base64url"));
  }

  /** Another key is another stream. */
  #idOf({ caller, name, clientKey }: StreamName): string {
    return `stream:${this.#medium.sealer.digest("stream", caller, name, clientKey?.reveal() ?? "")}`;
  }
}

function spentTicket(): MillraceError {
  return new MillraceError("cancelled", "This stream was attached to with the same ticket before.", {
    hint: "Another window, or a copy of the stream's record, uses this stream now. Continue there, or start a new stream.",
    details: { reason: "ticket_spent" },
  });
}

function expiredStream(): MillraceError {
  return new MillraceError("expired", "This stream does not exist, or is no longer kept.", {
    hint: "Start a new stream under a new name and key.",
  });
}
