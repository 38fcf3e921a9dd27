import type { TurnId } from "../../base/ids.ts";
import type { EventRow, MessageRow, StreamRow, TurnRow } from "../medium/medium.ts";

/** The Redis client's reply for one hash or stream entry: names and values in turn. */
type Flat = readonly Buffer[];

/** A row as a hash: names and values in turn, without undefined values. */
export function fieldsOf(row: TurnRow): (string | Buffer)[] {
  const fields: Record<string, string | number | Uint8Array | undefined> = {
    turn_id: row.turnId,
    created_at_ms: row.createdAtMs,
    caller: row.caller,
    key_index: row.keyIndex,
    match_index: row.matchIndex,
    session_index: row.sessionIndex,
    header: row.header,
    label: row.label,
    wrapped_key: row.wrappedKey,
    owner: row.owner,
    epoch: row.epoch,
    last_seq: row.lastSeq,
    last_mac: row.lastMac,
    attached_at_ms: row.attachedAtMs,
    longer_grace_ms: row.longerGraceMs,
    version: row.version,
  };
  return Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [name, argument(value)]));
}

export function argument(value: string | number | Uint8Array): string | Buffer {
  return value instanceof Uint8Array ? Buffer.from(value) : String(value);
}

/** The row of a hash; undefined for an empty one. Its words were written from the same unions. */
export function turnRowOf(flat: Flat): TurnRow | undefined {
  if (flat.length === 0) return undefined;
  const fields = named(flat);
  const text = (name: string) => fields.get(name)?.toString();
  const number = (name: string) => (fields.has(name) ? Number(text(name)) : undefined);
  const bytes = (name: string): Uint8Array => fields.get(name) ?? new Uint8Array(0);
  return {
    turnId: text("turn_id") as TurnId, // stored as one
    createdAtMs: number("created_at_ms") ?? 0,
    caller: text("caller") ?? "",
    keyIndex: text("key_index"),
    matchIndex: text("match_index") ?? "",
    sessionIndex: text("session_index"),
    header: bytes("header"),
    label: bytes("label"),
    wrappedKey: bytes("wrapped_key"),
    owner: text("owner") ?? "",
    epoch: number("epoch") ?? 0,
    lastSeq: number("last_seq") ?? 0,
    lastMac: bytes("last_mac"),
    outcome: text("outcome") as TurnRow["outcome"], // stored from this union
    endedAtMs: number("ended_at_ms"),
    attachedAtMs: number("attached_at_ms") ?? 0,
    longerGraceMs: number("longer_grace_ms") ?? 0,
    expiresAtMs: number("expires_at_ms"),
    delivered: fields.has("delivered"),
    cancelRequested: text("cancel_requested") as TurnRow["cancelRequested"], // stored from this union
    erasedAtMs: number("erased_at_ms"),
    version: number("version") ?? 0,
  };
}

/** A record of a stream entry, `[<seq>-0, fields]`. */
export function eventRowOf([id, flat]: readonly [Buffer, Flat]): EventRow {
  const fields = named(flat);
  const text = (name: string) => fields.get(name)?.toString() ?? "";
  return {
    seq: Number(id.toString().split("-")[0]),
    epoch: Number(text("epoch")),
    kind: text("kind") as EventRow["kind"], // stored from this union
    atMs: Number(text("at_ms")),
    payload: fields.get("payload") ?? new Uint8Array(0),
    mac: fields.get("mac") ?? new Uint8Array(0),
    outline: fields.get("outline") ?? new Uint8Array(0),
  };
}

export function streamRowOf(flat: Flat): StreamRow | undefined {
  if (flat.length === 0) return undefined;
  const fields = named(flat);
  const number = (name: string) => Number(fields.get(name)?.toString() ?? 0);
  return {
    streamId: fields.get("stream_id")?.toString() ?? "",
    wrappedKey: fields.get("wrapped_key") ?? new Uint8Array(0),
    epoch: number("epoch"),
    accepted: number("accepted"),
    ticket: fields.get("ticket")?.toString() ?? "",
    ticketBefore: fields.get("ticket_before")?.toString() ?? "",
    life: fields.get("life")?.toString() ?? "",
    attachNumber: Number(fields.get("attach_number")?.toString() ?? "0"),
    expiresAtMs: number("expires_at_ms"),
    erasedAtMs: fields.has("erased_at_ms") ? number("erased_at_ms") : undefined,
  };
}

export function messageRowOf(flat: Flat): MessageRow {
  const fields = named(flat);
  return {
    seqno: Number(fields.get("seqno")?.toString()),
    digest: fields.get("digest")?.toString() ?? "",
    box: fields.get("box") ?? new Uint8Array(0),
    turnId: fields.get("turn_id")?.toString() as TurnId | undefined, // stored as one
  };
}

function named(flat: Flat): Map<string, Buffer> {
  const fields = new Map<string, Buffer>();
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [name, value] = flat.slice(i, i + 2);
    if (name !== undefined && value !== undefined) fields.set(name.toString(), value);
  }
  return fields;
}
