import { createHash } from "node:crypto";
import { ErrorReply, RESP_TYPES } from "redis";
import type { TurnId } from "../../base/ids.ts";
import type { CancelledBy } from "../event.ts";
import type {
  AdmitOutcome,
  AppendRows,
  AttachAttempt,
  AttachedRow,
  HolderRow,
  LogMedium,
  Page,
  RowChange,
  RowFilter,
  SentRow,
  StreamRow,
  TurnRow,
} from "../medium/medium.ts";
import type { PageLimit } from "../medium/page-limit.ts";
import { passes } from "../medium/row-filter.ts";
import type { Waiters } from "../medium/waiters.ts";
import type { StoreCapabilities } from "../store.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { translateRedisError } from "./redis-errors.ts";
import { Replicas } from "./replicas.ts";
import { argument, eventRowOf, fieldsOf, messageRowOf, streamRowOf, turnRowOf } from "./rows.ts";
import { scripts } from "./scripts.ts";

type Argument = string | number | Uint8Array;
type Flat = readonly Buffer[];
type Entries = readonly (readonly [Buffer, Flat])[];

const asBuffers = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } } as const;
/** Scripts whose writes a client or a prompt depends on: a failover must not lose these writes. */
const lasting: ReadonlySet<keyof typeof scripts> = new Set(["create", "claim", "append", "attachStream", "admit"]);
/** Rows that one look at an index fetches, when a filter may drop some of them. */
const page = 256;

/**
 * Rows in Redis: hashes, and streams for records, changed by scripts. The server's settings decide how durable they are:
 * `appendonly yes` and `appendfsync always` equal SQLite.
 */
export class RedisMedium implements LogMedium {
  readonly capabilities: StoreCapabilities = {
    survivesRestart: true,
    sharedBetweenProcesses: true,
    sharedBetweenMachines: true,
  };
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #waiters: Waiters<string>;
  readonly #closing = new AbortController();
  readonly #replicas: Replicas;

  /** `waiters` are woken by the listener on the channel `wake`: with a turn's id, or all after a lost connection. */
  constructor(
    connection: RedisConnection,
    prefix: string,
    waiters: Waiters<string>,
    onWeaknesses?: ConstructorParameters<typeof Replicas>[1],
  ) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#waiters = waiters;
    this.#replicas = new Replicas(connection, onWeaknesses);
  }

  async create(row: TurnRow): Promise<{ row: TurnRow; created: boolean }> {
    const held = turnRowOf(await this.#run<Flat>("create", ...turnArguments(row)));
    return held === undefined ? { row, created: true } : { row: held, created: false };
  }

  async claim(turnId: TurnId, owner: string): Promise<TurnRow | undefined> {
    return turnRowOf(await this.#run<Flat>("claim", turnId, owner));
  }

  async append(
    turnId: TurnId,
    { epoch, afterSeq, events, end }: AppendRows,
  ): Promise<"appended" | "fenced" | "ended" | "removed"> {
    const { outcome = "", atMs = "", expiresAtMs = "", wrappedKey = "" } = end ?? {};
    const mac = events.at(-1)?.mac ?? new Uint8Array(0);
    const row = [turnId, epoch, afterSeq, afterSeq + events.length, mac, outcome, atMs, expiresAtMs, wrappedKey];
    const records = events.flatMap((event) => [
      event.seq,
      event.epoch,
      event.kind,
      event.atMs,
      event.payload,
      event.mac,
      event.outline,
    ]);
    const answer = String(await this.#run<Buffer>("append", ...row, ...records));
    if (answer === "appended" || answer === "fenced" || answer === "ended") return answer;
    return "removed";
  }

  async read(turnId: TurnId, afterSeq: number, { events, bytes }: PageLimit): Promise<Page | undefined> {
    type Answer = [Flat?, Entries?, Entries?, number?];
    const answer = await this.#run<Answer>("read", turnId, afterSeq, events, bytes);
    const [flat = [], previous = [], entries = [], full = 0] = answer;
    const row = turnRowOf(flat);
    if (row === undefined) return undefined;
    const before = previous[0];
    return {
      row,
      previousMac: before === undefined ? undefined : eventRowOf(before).mac,
      events: entries.map(eventRowOf),
      full: full === 1,
    };
  }

  async untilChanged(turnId: TurnId, seenVersion: number, signal: AbortSignal): Promise<void> {
    await this.#untilOther(turnId, async () => (await this.get(turnId))?.version, seenVersion, signal);
  }

  async cancelRequests(): Promise<ReadonlyMap<TurnId, CancelledBy>> {
    const flat = (await this.#run<Flat>("cancelRequests")).map(String);
    const pairs = flat.flatMap((id, i) => (i % 2 === 0 ? [[id as TurnId, flat[i + 1] as CancelledBy] as const] : [])); // stored as such
    return new Map(pairs);
  }

  async untilCancelRequested(signal: AbortSignal): Promise<void> {
    await this.#waiters.wait("cancels", AbortSignal.any([signal, this.#closing.signal]));
  }

  async mark(turnId: TurnId, change: RowChange, holder?: HolderRow): Promise<boolean> {
    const { attachedAtMs = "", longerGraceMs = "", expiresAtMs = "", delivered = false, cancelRequested = "" } = change;
    const words = [turnId, attachedAtMs, longerGraceMs, expiresAtMs, delivered ? 1 : "", cancelRequested];
    return (await this.#run("mark", ...words, holder?.streamId ?? "", holder?.epoch ?? "")) === null;
  }

  async get(turnId: TurnId): Promise<TurnRow | undefined> {
    return turnRowOf(await this.#run<Flat>("get", turnId));
  }

  async list(filter: RowFilter): Promise<readonly TurnRow[]> {
    const { caller, keyIndex } = filter;
    if (caller !== undefined && keyIndex !== undefined) {
      const held = turnRowOf(await this.#run<Flat>("held", caller, keyIndex));
      return held !== undefined && passes(held, filter) ? [held] : [];
    }
    const index = indexOf(filter);
    const found: TurnRow[] = [];
    for (let skip = 0; found.length < filter.limit; skip += page) {
      const rows = await this.#run<Flat[]>("list", index, skip, page);
      found.push(...rows.flatMap((flat) => turnRowOf(flat) ?? []).filter((row) => passes(row, filter)));
      if (rows.length < page) break;
    }
    return found.slice(0, filter.limit);
  }

  async erase(turnId: TurnId, atMs: number): Promise<void> {
    await this.#run("erase", turnId, atMs);
  }

  async remove(turnId: TurnId): Promise<void> {
    await this.#run("remove", turnId);
  }

  async attachStream(row: StreamRow, { intent, given, nowMs }: AttachAttempt): Promise<AttachedRow> {
    const { streamId, wrappedKey, epoch, accepted, ticket, ticketBefore, life, attachNumber, expiresAtMs } = row;
    const asked = [streamId, intent, expiresAtMs, nowMs, given, ticket, life, attachNumber];
    const fields = ["stream_id", streamId, "wrapped_key", wrappedKey, "epoch", epoch, "accepted", accepted];
    const tickets = ["ticket", ticket, "ticket_before", ticketBefore, "expires_at_ms", expiresAtMs];
    const counted = ["life", life, "attach_number", attachNumber];
    const answer = await this.#run<[Flat?, Flat[]?] | Buffer>(
      "attachStream",
      ...asked,
      ...fields,
      ...tickets,
      ...counted,
    );
    if (!Array.isArray(answer)) return String(answer) as "spent" | "late"; // the script answers from this union
    const [flat = [], messages = []] = answer;
    const held = streamRowOf(flat);
    return held === undefined ? undefined : { row: held, messages: messages.map(messageRowOf) };
  }

  async admit(streamId: string, message: SentRow, turn: TurnRow | undefined): Promise<AdmitOutcome> {
    const { epoch, seqno, digest, box, expiresAtMs } = message;
    const words = [streamId, epoch, seqno, digest, box, expiresAtMs];
    const answer = await this.#run<Buffer>("admit", ...words, ...(turn === undefined ? [] : turnArguments(turn)));
    return String(answer) as AdmitOutcome; // the script answers from this union
  }

  async untilReattached(streamId: string, epoch: number, signal: AbortSignal): Promise<void> {
    const read = async () => Number(String((await this.#run<Buffer | null>("streamEpoch", streamId)) ?? "0"));
    while ((await read()) === epoch) await this.#untilOther(`stream:${streamId}`, read, epoch, signal);
  }

  async sweep(nowMs: number, tombstonesUpToMs: number): Promise<void> {
    await this.#run("sweep", nowMs, tombstonesUpToMs);
  }

  async renewOwner(owner: string, aliveUntilMs: number): Promise<void> {
    await this.#run("renewOwner", owner, aliveUntilMs);
    await this.#replicas.look(); // it is called every few seconds
  }

  async owners(): Promise<ReadonlyMap<string, number>> {
    const flat = (await this.#run<Flat>("owners")).map(String);
    return new Map(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, Number(flat[i + 1])] as const] : [])));
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the log was closed"));
    await this.#connection.close();
  }

  /** Resolves once the value under that name differs from `seen`; at once if it already does. */
  async #untilOther(name: string, read: () => Promise<unknown>, seen: unknown, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiters.wait(name, AbortSignal.any([signal, this.#closing.signal]));
    waiting.catch(() => undefined); // the await below gets the failure; it is of no interest when the server cannot be asked
    if ((await read()) !== seen) this.#waiters.wake(name);
    await waiting;
  }

  /** Runs a script by its digest, handing the script itself over where the server does not know it yet. */
  async #run<Reply>(name: keyof typeof scripts, ...values: Argument[]): Promise<Reply> {
    const words = ["1", this.#prefix, ...values.map(argument)];
    try {
      const reply = await this.#evaluate(name, words);
      if (lasting.has(name)) await this.#replicas.follow();
      return reply as Reply; // what the script answers
    } catch (error) {
      throw translateRedisError(error);
    }
  }

  async #evaluate(name: keyof typeof scripts, words: readonly (string | Buffer)[]): Promise<unknown> {
    try {
      return await this.#connection.sendCommand(["EVALSHA", digestOf(name), ...words], asBuffers);
    } catch (error) {
      if (!(error instanceof ErrorReply) || !error.message.startsWith("NOSCRIPT")) throw error;
      return await this.#connection.sendCommand(["EVAL", scripts[name], ...words], asBuffers);
    }
  }
}

/** A turn as the scripts take it. */
function turnArguments(row: TurnRow): Argument[] {
  const { turnId, caller, keyIndex = "", matchIndex, sessionIndex = "", createdAtMs } = row;
  return [turnId, caller, keyIndex, matchIndex, sessionIndex, createdAtMs, ...fieldsOf(row)];
}

/** The narrowest index that holds every row that can pass. */
function indexOf({ open, caller, matchIndex, sessionIndex }: RowFilter): string {
  if (open === true) return "open";
  if (caller !== undefined && matchIndex !== undefined) return `match:${caller}:${matchIndex}`;
  if (caller !== undefined && sessionIndex !== undefined) return `session:${caller}:${sessionIndex}`;
  return "turns";
}

function digestOf(name: keyof typeof scripts): string {
  return createHash("sha1").update(scripts[name]).digest("hex"); // Redis names scripts by SHA-1
}
