import type {
  AdmitOutcome,
  AttachAttempt,
  AttachedRow,
  HolderRow,
  MessageRow,
  SentRow,
  StreamRow,
  TurnRow,
} from "../medium/medium.ts";
import type { Waiters } from "../medium/waiters.ts";

interface Entry {
  row: StreamRow;
  messages: MessageRow[];
}

/** The messages of clients' streams, in this process's memory. */
export class MemoryStreams {
  readonly #streams = new Map<string, Entry>();
  readonly #waiters: Waiters<string>;
  readonly #insertTurn: (row: TurnRow) => void;

  constructor(waiters: Waiters<string>, insertTurn: (row: TurnRow) => void) {
    this.#waiters = waiters;
    this.#insertTurn = insertTurn;
  }

  attach(row: StreamRow, { intent, given, nowMs }: AttachAttempt): AttachedRow {
    this.sweep(nowMs, -Infinity);
    const entry = this.#streams.get(row.streamId);
    if (entry === undefined) {
      if (intent !== "create") return undefined;
      this.#streams.set(row.streamId, { row, messages: [] });
      return { row, messages: [] };
    }
    if (entry.row.erasedAtMs === undefined && intent !== "observe") {
      if (row.life !== "" && row.life === entry.row.life && row.attachNumber < entry.row.attachNumber) return "late";
      const isSpent = given !== entry.row.ticket && given !== entry.row.ticketBefore;
      const moved = isSpent ? {} : { expiresAtMs: row.expiresAtMs, ticket: row.ticket, ticketBefore: given };
      const counted = row.life === "" ? {} : { life: row.life, attachNumber: row.attachNumber };
      entry.row = { ...entry.row, epoch: entry.row.epoch + 1, ...moved, ...counted };
      this.#waiters.wake(`stream:${row.streamId}`);
      if (isSpent) return "spent";
    }
    return { row: entry.row, messages: [...entry.messages] };
  }

  admit(streamId: string, { epoch, expiresAtMs, ...message }: SentRow, turn: TurnRow | undefined): AdmitOutcome {
    const entry = this.#streams.get(streamId);
    if (entry === undefined || entry.row.erasedAtMs !== undefined) return "unknown";
    if (entry.row.epoch !== epoch) return "fenced";
    const held = entry.messages[message.seqno];
    if (held !== undefined) return held.digest === message.digest ? "repeated" : "conflict";
    if (message.seqno !== entry.row.accepted) return "gap";
    if (turn !== undefined) this.#insertTurn(turn);
    entry.messages.push({ ...message, turnId: turn?.turnId });
    entry.row = { ...entry.row, accepted: entry.row.accepted + 1, expiresAtMs };
    return "admitted";
  }

  /** Whether a newer attach has the stream. */
  isTakenFrom({ streamId, epoch }: HolderRow): boolean {
    const entry = this.#streams.get(streamId);
    return entry !== undefined && entry.row.epoch !== epoch;
  }

  async untilReattached(streamId: string, epoch: number, signal: AbortSignal): Promise<void> {
    if (this.#streams.get(streamId)?.row.epoch !== epoch) return;
    await this.#waiters.wait(`stream:${streamId}`, signal);
  }

  sweep(nowMs: number, tombstonesUpToMs: number): void {
    for (const [streamId, entry] of this.#streams) {
      const { erasedAtMs, expiresAtMs } = entry.row;
      if (erasedAtMs !== undefined && erasedAtMs <= tombstonesUpToMs) this.#streams.delete(streamId);
      if (erasedAtMs === undefined && expiresAtMs <= nowMs) {
        entry.messages = [];
        entry.row = { ...entry.row, erasedAtMs: nowMs, wrappedKey: new Uint8Array(0) };
      }
    }
  }
}
