import type { TurnId } from "../../base/ids.ts";
import type { CancelledBy } from "../event.ts";
import type {
  AdmitOutcome,
  AppendRows,
  AttachAttempt,
  AttachedRow,
  EventRow,
  HolderRow,
  LogMedium,
  Page,
  RowChange,
  RowFilter,
  SentRow,
  StreamRow,
  TurnRow,
} from "../medium/medium.ts";
import { type PageLimit, takePage } from "../medium/page-limit.ts";
import { passes } from "../medium/row-filter.ts";
import { Waiters } from "../medium/waiters.ts";
import type { StoreCapabilities } from "../store.ts";
import { MemoryStreams } from "./memory-streams.ts";

interface Entry {
  row: TurnRow;
  events: EventRow[];
}

/** The key under which callers wait for any cancel request. */
const cancels = "cancels";

const nothing = new Uint8Array(0);

/** Rows in this process's memory: for tests, and for turns that no other store would take. */
export class MemoryMedium implements LogMedium {
  readonly capabilities: StoreCapabilities = { survivesRestart: false, sharedBetweenProcesses: false };
  readonly #entries = new Map<TurnId, Entry>();
  readonly #byKey = new Map<string, TurnId>();
  readonly #owners = new Map<string, number>();
  readonly #waiters = new Waiters<string>();
  readonly #streams = new MemoryStreams(this.#waiters, (row) => this.#insert(row));

  async create(row: TurnRow): Promise<{ row: TurnRow; created: boolean }> {
    const key = idempotencyKeyOf(row);
    const holder = key === undefined ? undefined : this.#byKey.get(key);
    const entry = holder === undefined ? undefined : this.#entries.get(holder);
    if (entry !== undefined) return { row: entry.row, created: false };
    this.#insert(row);
    return { row, created: true };
  }

  async claim(turnId: TurnId, owner: string): Promise<TurnRow | undefined> {
    const entry = this.#entries.get(turnId);
    if (entry === undefined || entry.row.outcome !== undefined) return undefined;
    return this.#change(entry, { owner, epoch: entry.row.epoch + 1 });
  }

  async append(
    turnId: TurnId,
    { epoch, afterSeq, events, end }: AppendRows,
  ): Promise<"appended" | "fenced" | "ended" | "removed"> {
    const entry = this.#entries.get(turnId);
    if (entry === undefined) return "removed";
    if (entry.row.epoch !== epoch) return "fenced";
    if (entry.row.outcome !== undefined) return "ended";
    if (entry.row.lastSeq !== afterSeq) return "fenced";
    entry.events.push(...events);
    this.#change(entry, {
      lastSeq: afterSeq + events.length,
      lastMac: events.at(-1)?.mac ?? entry.row.lastMac,
      ...(end === undefined ? {} : { outcome: end.outcome, endedAtMs: end.atMs, expiresAtMs: end.expiresAtMs }),
      ...(end?.wrappedKey === undefined ? {} : { wrappedKey: end.wrappedKey }),
    });
    return "appended";
  }

  async read(turnId: TurnId, afterSeq: number, limit: PageLimit): Promise<Page | undefined> {
    const entry = this.#entries.get(turnId);
    if (entry === undefined) return undefined;
    return {
      row: entry.row,
      previousMac: entry.events[afterSeq - 1]?.mac,
      ...takePage(entry.events.slice(afterSeq, afterSeq + limit.events), limit),
    };
  }

  async untilChanged(turnId: TurnId, seenVersion: number, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(turnId);
    if (entry === undefined || entry.row.version !== seenVersion) return;
    await this.#waiters.wait(turnId, signal);
  }

  async cancelRequests(): Promise<ReadonlyMap<TurnId, CancelledBy>> {
    const asked = new Map<TurnId, CancelledBy>();
    for (const { row } of this.#entries.values())
      if (row.cancelRequested !== undefined && row.outcome === undefined) asked.set(row.turnId, row.cancelRequested);
    return asked;
  }

  async untilCancelRequested(signal: AbortSignal): Promise<void> {
    await this.#waiters.wait(cancels, signal);
  }

  async mark(turnId: TurnId, change: RowChange, holder?: HolderRow): Promise<boolean> {
    if (holder !== undefined && this.#streams.isTakenFrom(holder)) return false;
    this.#mark(turnId, change);
    return true;
  }

  #mark(turnId: TurnId, change: RowChange): void {
    const entry = this.#entries.get(turnId);
    if (entry === undefined) return;
    const { cancelRequested, longerGraceMs = 0, ...rest } = change;
    entry.row = { ...entry.row, ...rest, longerGraceMs: Math.max(entry.row.longerGraceMs, longerGraceMs) };
    if (cancelRequested === undefined || entry.row.outcome !== undefined) return;
    if (entry.row.cancelRequested === undefined) this.#change(entry, { cancelRequested });
    this.#waiters.wake(cancels);
  }

  async get(turnId: TurnId): Promise<TurnRow | undefined> {
    return this.#entries.get(turnId)?.row;
  }

  async list(filter: RowFilter): Promise<readonly TurnRow[]> {
    return [...this.#entries.values()]
      .map(({ row }) => row)
      .filter((row) => passes(row, filter))
      .sort((a, b) => b.createdAtMs - a.createdAtMs || (a.turnId < b.turnId ? 1 : -1))
      .slice(0, filter.limit);
  }

  async erase(turnId: TurnId, atMs: number): Promise<void> {
    const entry = this.#entries.get(turnId);
    if (entry === undefined || entry.row.erasedAtMs !== undefined) return;
    entry.events = [];
    this.#change(entry, { header: nothing, label: nothing, wrappedKey: nothing, erasedAtMs: atMs });
  }

  async remove(turnId: TurnId): Promise<void> {
    const entry = this.#entries.get(turnId);
    if (entry === undefined) return;
    this.#entries.delete(turnId);
    const key = idempotencyKeyOf(entry.row);
    if (key !== undefined) this.#byKey.delete(key);
    this.#waiters.wake(turnId);
  }

  async attachStream(row: StreamRow, ask: AttachAttempt): Promise<AttachedRow> {
    return this.#streams.attach(row, ask);
  }

  async admit(streamId: string, message: SentRow, turn: TurnRow | undefined): Promise<AdmitOutcome> {
    return this.#streams.admit(streamId, message, turn);
  }

  async untilReattached(streamId: string, epoch: number, signal: AbortSignal): Promise<void> {
    await this.#streams.untilReattached(streamId, epoch, signal);
  }

  async sweep(nowMs: number, tombstonesUpToMs: number): Promise<void> {
    this.#streams.sweep(nowMs, tombstonesUpToMs);
    for (const { row } of this.#entries.values()) {
      if (row.erasedAtMs !== undefined && row.erasedAtMs <= tombstonesUpToMs) await this.remove(row.turnId);
      else if (row.expiresAtMs !== undefined && row.expiresAtMs <= nowMs) await this.erase(row.turnId, nowMs);
    }
  }

  async renewOwner(owner: string, aliveUntilMs: number): Promise<void> {
    this.#owners.set(owner, aliveUntilMs);
  }

  async owners(): Promise<ReadonlyMap<string, number>> {
    return new Map(this.#owners);
  }

  async close(): Promise<void> {
    this.#waiters.wakeAll();
  }

  #insert(row: TurnRow): void {
    this.#entries.set(row.turnId, { row, events: [] });
    const key = idempotencyKeyOf(row);
    if (key !== undefined) this.#byKey.set(key, row.turnId);
  }

  #change(entry: Entry, change: Partial<TurnRow>): TurnRow {
    entry.row = { ...entry.row, ...change, version: entry.row.version + 1 };
    this.#waiters.wake(entry.row.turnId);
    return entry.row;
  }
}

function idempotencyKeyOf({ caller, keyIndex }: TurnRow): string | undefined {
  return keyIndex === undefined ? undefined : JSON.stringify([caller, keyIndex]);
}
