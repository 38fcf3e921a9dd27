import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import type { TurnId } from "../../base/ids.ts";
import type { EventRow, RowFilter, TurnRow } from "../medium/medium.ts";

type Columns = Readonly<Record<string, SQLOutputValue>>;

/** Turns with their headers, as `turnRowOf` reads them. */
export const selectTurns = "SELECT turns.*, headers.header FROM turns LEFT JOIN headers ON headers.turn = turns.number";

/** The number by which events and headers name the turn of this id. */
export const turnNumber = "(SELECT number FROM turns WHERE turn_id = ?)";

/** The same for running turns of all callers: SQLite's planner would look at every turn that there is. */
const selectOpenTurns = selectTurns.replace("FROM turns", "FROM turns INDEXED BY open_turns");

/** The turns that a filter asks for, newest first. */
export function turnsQuery(filter: RowFilter): { readonly sql: string; readonly values: readonly SQLInputValue[] } {
  const { open, exceptOwner, caller, matchIndex, sessionIndex, keyIndex, limit } = filter;
  const where = keyIndex === undefined ? ["erased_at_ms IS NULL"] : ["TRUE"]; // under a key, a tombstone says that it expired
  const values: SQLInputValue[] = [];
  if (open !== undefined) where.push(open ? "outcome IS NULL" : "outcome IS NOT NULL");
  const equal = { caller, match_index: matchIndex, session_index: sessionIndex, key_index: keyIndex };
  for (const [column, value] of Object.entries(equal)) {
    if (value === undefined) continue;
    where.push(`${column} = ?`);
    values.push(value);
  }
  if (exceptOwner !== undefined) {
    where.push("owner <> ?");
    values.push(exceptOwner);
  }
  const select = open === true && caller === undefined ? selectOpenTurns : selectTurns;
  const sql = `${select} WHERE ${where.join(" AND ")} ORDER BY created_at_ms DESC, turns.turn_id DESC LIMIT ?`;
  return { sql, values: [...values, limit] };
}

/** The columns of `turns`, in the order of `turnValues`. */
export const turnColumns = [
  "turn_id",
  "created_at_ms",
  "caller",
  "key_index",
  "match_index",
  "session_index",
  "label",
  "wrapped_key",
  "owner",
  "epoch",
  "last_seq",
  "last_mac",
  "outcome",
  "ended_at_ms",
  "attached_at_ms",
  "longer_grace_ms",
  "expires_at_ms",
  "delivered",
  "cancel_requested",
  "erased_at_ms",
  "version",
] as const;

export function turnValues(row: TurnRow): (string | number | null | Uint8Array)[] {
  return [
    row.turnId,
    row.createdAtMs,
    row.caller,
    row.keyIndex ?? null,
    row.matchIndex,
    row.sessionIndex ?? null,
    row.label,
    row.wrappedKey,
    row.owner,
    row.epoch,
    row.lastSeq,
    row.lastMac,
    row.outcome ?? null,
    row.endedAtMs ?? null,
    row.attachedAtMs,
    row.longerGraceMs,
    row.expiresAtMs ?? null,
    row.delivered ? 1 : 0,
    row.cancelRequested ?? null,
    row.erasedAtMs ?? null,
    row.version,
  ];
}

/** A row of `selectTurns` as it was stored; its words were written from the same unions. */
export function turnRowOf(columns: Columns): TurnRow {
  return {
    turnId: text(columns, "turn_id") as TurnId, // stored as one
    createdAtMs: number(columns, "created_at_ms"),
    caller: text(columns, "caller"),
    keyIndex: optionalText(columns, "key_index"),
    matchIndex: text(columns, "match_index"),
    sessionIndex: optionalText(columns, "session_index"),
    header: bytes(columns, "header"),
    label: bytes(columns, "label"),
    wrappedKey: bytes(columns, "wrapped_key"),
    owner: text(columns, "owner"),
    epoch: number(columns, "epoch"),
    lastSeq: number(columns, "last_seq"),
    lastMac: bytes(columns, "last_mac"),
    outcome: optionalText(columns, "outcome") as TurnRow["outcome"], // stored from this union
    endedAtMs: optionalNumber(columns, "ended_at_ms"),
    attachedAtMs: number(columns, "attached_at_ms"),
    longerGraceMs: number(columns, "longer_grace_ms"),
    expiresAtMs: optionalNumber(columns, "expires_at_ms"),
    delivered: number(columns, "delivered") === 1,
    cancelRequested: optionalText(columns, "cancel_requested") as TurnRow["cancelRequested"], // stored from this union
    erasedAtMs: optionalNumber(columns, "erased_at_ms"),
    version: number(columns, "version"),
  };
}

/** One at a time, as they are asked for. */
export function* eventRowsOf(rows: Iterable<Columns>): Generator<EventRow, void> {
  for (const row of rows) yield eventRowOf(row);
}

function eventRowOf(columns: Columns): EventRow {
  return {
    seq: number(columns, "seq"),
    epoch: number(columns, "epoch"),
    kind: text(columns, "kind") as EventRow["kind"], // stored from this union
    atMs: number(columns, "at_ms"),
    payload: bytes(columns, "payload"),
    mac: bytes(columns, "mac"),
    outline: bytes(columns, "outline"),
  };
}

function text(columns: Columns, name: string): string {
  return optionalText(columns, name) ?? "";
}

function optionalText(columns: Columns, name: string): string | undefined {
  const value = columns[name];
  return typeof value === "string" ? value : undefined;
}

function number(columns: Columns, name: string): number {
  return optionalNumber(columns, name) ?? 0;
}

function optionalNumber(columns: Columns, name: string): number | undefined {
  const value = columns[name];
  return typeof value === "number" ? value : undefined;
}

function bytes(columns: Columns, name: string): Uint8Array {
  const value = columns[name];
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}
