import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import type { TurnId } from "../../base/ids.ts";
import type {
  AdmitOutcome,
  AttachAttempt,
  AttachedRow,
  HolderRow,
  MessageRow,
  SentRow,
  StreamRow,
} from "../medium/medium.ts";

type Columns = Readonly<Record<string, SQLOutputValue>>;

/** The medium's functions that the statements use; each call below runs inside one of its transactions. */
export interface Statements {
  /** How many rows it changed. */
  run(sql: string, ...values: SQLInputValue[]): number;
  one(sql: string, ...values: SQLInputValue[]): Columns | undefined;
  all(sql: string, ...values: SQLInputValue[]): readonly Columns[];
}

/** An attach that takes the stream over, or makes it. */
export function attachStream(
  statements: Statements,
  row: StreamRow,
  { intent, given, nowMs }: AttachAttempt,
): AttachedRow {
  const { streamId, wrappedKey, epoch, accepted, ticket, ticketBefore, life, attachNumber, expiresAtMs } = row;
  sweepStreams(statements, nowMs, -1);
  const before = statements.one("SELECT * FROM streams WHERE stream_id = ?", streamId);
  const isOver = before === undefined || before["erased_at_ms"] !== null;
  const counts = !isOver && life !== "" && life === before["life"];
  if (counts && attachNumber < Number(before["attach_number"])) return "late";
  const raise = "UPDATE streams SET epoch = epoch + 1 WHERE stream_id = ? AND erased_at_ms IS NULL";
  statements.run(raise, streamId);
  const count = "UPDATE streams SET life = ?, attach_number = ? WHERE stream_id = ? AND erased_at_ms IS NULL";
  if (life !== "") statements.run(count, life, attachNumber, streamId);
  if (!isOver && given !== before["ticket"] && given !== before["ticket_before"]) return "spent";
  const move = `UPDATE streams SET expires_at_ms = ?, ticket = ?, ticket_before = ?
    WHERE stream_id = ? AND erased_at_ms IS NULL`;
  statements.run(move, expiresAtMs, ticket, given, streamId);
  const held = observeStream(statements, streamId, nowMs);
  if (held !== undefined) return held;
  if (intent !== "create") return undefined;
  const insert = `INSERT INTO streams
    (stream_id, wrapped_key, epoch, accepted, ticket, ticket_before, life, attach_number, expires_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const tickets = [ticket, ticketBefore, life, attachNumber];
  statements.run(insert, streamId, wrappedKey, epoch, accepted, ...tickets, expiresAtMs);
  return { row, messages: [] };
}

/** Reads the stream and writes nothing. A stream that has expired reads as erased. */
export function observeStream(
  statements: Statements,
  streamId: string,
  nowMs: number,
): { readonly row: StreamRow; readonly messages: readonly MessageRow[] } | undefined {
  const held = statements.one("SELECT * FROM streams WHERE stream_id = ?", streamId);
  if (held === undefined) return undefined;
  const row = streamRowOf(held);
  if (row.erasedAtMs === undefined && row.expiresAtMs <= nowMs) {
    return { row: { ...row, wrappedKey: new Uint8Array(0), erasedAtMs: nowMs }, messages: [] };
  }
  const messages = statements.all("SELECT * FROM messages WHERE stream_id = ? ORDER BY seqno", streamId);
  return { row, messages: messages.map(messageRowOf) };
}

/** A message, and the turn that it starts. */
interface StartingRow extends SentRow {
  readonly turnId: TurnId | undefined;
}

/** Says whether the message may be accepted, and accepts it; the caller creates its turn in the same transaction. */
export function admitMessage(statements: Statements, streamId: string, message: StartingRow): AdmitOutcome {
  const { epoch, seqno, digest, box, expiresAtMs, turnId } = message;
  const row = statements.one("SELECT * FROM streams WHERE stream_id = ? AND erased_at_ms IS NULL", streamId);
  if (row === undefined) return "unknown";
  if (row["epoch"] !== epoch) return "fenced";
  const held = statements.one("SELECT digest FROM messages WHERE stream_id = ? AND seqno = ?", streamId, seqno);
  if (held !== undefined) return held["digest"] === digest ? "repeated" : "conflict";
  if (row["accepted"] !== seqno) return "gap";
  const insert = "INSERT INTO messages (stream_id, seqno, digest, box, turn_id) VALUES (?, ?, ?, ?, ?)";
  statements.run(insert, streamId, seqno, digest, box, turnId ?? null);
  const update = "UPDATE streams SET accepted = accepted + 1, expires_at_ms = ? WHERE stream_id = ?";
  statements.run(update, expiresAtMs, streamId);
  return "admitted";
}

/** Whether a newer attach has the stream. */
export function isTakenFrom(statements: Statements, { streamId, epoch }: HolderRow): boolean {
  const row = statements.one("SELECT epoch FROM streams WHERE stream_id = ?", streamId);
  return row !== undefined && row["epoch"] !== epoch;
}

export function sweepStreams(statements: Statements, nowMs: number, tombstonesUpToMs: number): void {
  const expired = "SELECT stream_id FROM streams WHERE expires_at_ms <= ? AND erased_at_ms IS NULL";
  for (const { stream_id } of statements.all(expired, nowMs)) {
    statements.run("DELETE FROM messages WHERE stream_id = ?", String(stream_id));
    statements.run(
      "UPDATE streams SET wrapped_key = x'', erased_at_ms = ? WHERE stream_id = ?",
      nowMs,
      String(stream_id),
    );
  }
  statements.run("DELETE FROM streams WHERE erased_at_ms <= ?", tombstonesUpToMs);
}

function streamRowOf(columns: Columns): StreamRow {
  const erased = columns["erased_at_ms"];
  return {
    streamId: String(columns["stream_id"]),
    wrappedKey: bytes(columns["wrapped_key"]),
    epoch: Number(columns["epoch"]),
    accepted: Number(columns["accepted"]),
    ticket: String(columns["ticket"]),
    ticketBefore: String(columns["ticket_before"]),
    life: String(columns["life"]),
    attachNumber: Number(columns["attach_number"]),
    expiresAtMs: Number(columns["expires_at_ms"]),
    erasedAtMs: typeof erased === "number" ? erased : undefined,
  };
}

function messageRowOf(columns: Columns): MessageRow {
  const turnId = columns["turn_id"];
  return {
    seqno: Number(columns["seqno"]),
    digest: String(columns["digest"]),
    box: bytes(columns["box"]),
    turnId: typeof turnId === "string" ? (turnId as TurnId) : undefined, // stored as one
  };
}

function bytes(value: SQLOutputValue | undefined): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}
