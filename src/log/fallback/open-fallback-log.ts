import { createHash } from "node:crypto";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { isDegraded, isMillraceError, type MillraceError } from "../../base/errors.ts";
import type { EventId, TurnId } from "../../base/ids.ts";
import type { Secret } from "../../base/secret.ts";
import type { AttachedStream, StreamName } from "../client-stream.ts";
import { clearCodec, type LogCodec } from "../codec.ts";
import type { CancelledBy, TurnEvent } from "../event.ts";
import { openMemoryLog } from "../memory/open-memory-log.ts";
import type { OutlinedEvent } from "../outline.ts";
import { defaultRetention, type Retention } from "../retention.ts";
import type {
  Admitted,
  Claimed,
  Created,
  LogStore,
  LogWriter,
  Looking,
  NewTurn,
  Opening,
  StoreCapabilities,
  StreamStore,
  TurnFilter,
  TurnRecord,
} from "../store.ts";
import { Waiters } from "../waiters.ts";
import { BoundedSet } from "./bounded-set.ts";
import { FallbackWriter } from "./fallback-writer.ts";
import { JustEnded } from "./just-ended.ts";
import { OwedDeliveries } from "./owed-deliveries.ts";
import { StoreHealth } from "./store-health.ts";

export interface FallbackLogOptions {
  /** Opens the store; called again while it fails. Throws `degraded`. */
  readonly open: () => Promise<LogStore>;
  /** What the store can do once it is open. */
  readonly capabilities: StoreCapabilities;
  readonly clock: Clock;
  /** How long memory keeps what ended; the default where not said. */
  readonly retention?: Retention;
  /** How memory keeps what the store will not take; as it is where not said. */
  readonly codec?: LogCodec;
  /** Told when the store begins to fail, with why, and when it is well again. */
  readonly onDegraded?: (error: MillraceError | undefined) => void;
}

/** A log that never stops an answer: turns that its store will not take live in memory until it does. */
export interface FallbackLog extends LogStore {
  /** Why the store failed last, while it does. */
  readonly degradedBy: MillraceError | undefined;
}

export async function openFallbackLog(options: FallbackLogOptions): Promise<FallbackLog> {
  const log = new Fallback(options);
  await log.tryOpen();
  return log;
}

class Fallback implements FallbackLog {
  readonly capabilities: StoreCapabilities;
  readonly #memory: LogStore;
  readonly #writers = new Map<TurnId, FallbackWriter>();
  /** Turns that memory holds. */
  readonly #inMemory = new Set<TurnId>();
  /** Streams that the store was seen to hold: digests of their names. */
  readonly #storedStreams = new BoundedSet(mostRemembered);
  readonly #justEnded: JustEnded;
  readonly #owed = new OwedDeliveries();
  /** Wakes readers when a turn moves. */
  readonly #moves = new Waiters<TurnId>();
  readonly #health: StoreHealth;

  constructor(options: FallbackLogOptions) {
    this.capabilities = options.capabilities;
    const { clock, codec = clearCodec, retention = defaultRetention, open, onDegraded } = options;
    this.#health = new StoreHealth({ open, clock, onDegraded, bringBack: (store) => this.#bringBack(store) });
    this.#memory = openMemoryLog({ clock, codec, retention });
    this.#justEnded = new JustEnded(clock);
  }

  get degradedBy(): MillraceError | undefined {
    return this.#health.degradedBy;
  }

  tryOpen(): Promise<void> {
    return this.#health.tryOpen();
  }

  async create(turn: NewTurn, owner: string, clientKey?: Secret): Promise<Created> {
    // a store that just failed is not asked again for each turn: healing finds out when it is back
    const ask = this.#health.degradedBy === undefined;
    const stored = ask
      ? await this.#health.orDegraded(() => this.#health.store.create(turn, owner, clientKey))
      : undefined;
    const created = stored ?? (await this.#memory.create(turn, owner));
    const inMemory = stored === undefined;
    const record = inMemory ? { ...created.record, degraded: true } : created.record;
    if (created.writer === undefined) return { record, writer: undefined };
    if (inMemory) this.#inMemory.add(turn.turnId);
    return { record, writer: this.#writerOf(turn, owner, clientKey, created.writer, async () => []) };
  }

  async listRunning(): Promise<readonly TurnRecord[]> {
    return (await this.#health.orDegraded(() => this.#health.store.listRunning())) ?? [];
  }

  async claim(turnId: TurnId, owner: string): Promise<Claimed | undefined> {
    const claimed = await this.#home(turnId).claim(turnId, owner);
    if (claimed === undefined) return undefined;
    const { record, writer, readAll } = claimed;
    return { record, writer: this.#writerOf(record, owner, undefined, writer, readAll), readAll };
  }

  readAfter(
    turnId: TurnId,
    after: EventId,
    options: { readonly limit: number } & Opening,
  ): Promise<{ readonly events: readonly TurnEvent[]; readonly ended: boolean }> {
    return this.#whereverItIs(turnId, never, (store) => store.readAfter(turnId, after, options));
  }

  readOutlineAfter(
    turnId: TurnId,
    after: EventId,
    options: { readonly limit: number },
  ): Promise<{ readonly events: readonly OutlinedEvent[]; readonly ended: boolean }> {
    return this.#whereverItIs(turnId, never, (store) => store.readOutlineAfter(turnId, after, options));
  }

  untilPast(turnId: TurnId, cursor: EventId, signal: AbortSignal): Promise<void> {
    return this.#whereverItIs(turnId, signal, (store, here) => store.untilPast(turnId, cursor, here));
  }

  async requestCancel(...[turnId, ...asked]: Parameters<LogStore["requestCancel"]>): Promise<boolean> {
    try {
      return await this.#home(turnId).requestCancel(turnId, ...asked);
    } catch (error) {
      // its writer is in this process, which ends it whether that can be stored or not
      if (!isDegraded(error) || !this.#writers.has(turnId)) throw error;
      return true;
    }
  }

  untilCancelRequested(turnId: TurnId, signal: AbortSignal): Promise<CancelledBy> {
    return this.#whereverItIs(turnId, signal, (store, here) => store.untilCancelRequested(turnId, here));
  }

  async noteAttached(...[turnId, ...noted]: Parameters<LogStore["noteAttached"]>): Promise<void> {
    await this.#health.orDegraded(() => this.#home(turnId).noteAttached(turnId, ...noted));
  }

  async keepTogether(turnIds: readonly TurnId[]): Promise<void> {
    const last = turnIds.at(-1);
    if (last !== undefined) await this.#health.orDegraded(() => this.#home(last).keepTogether(turnIds));
  }

  async noteDelivered(turnId: TurnId): Promise<void> {
    const told = await this.#health.orDegraded(async () => {
      await this.#home(turnId).noteDelivered(turnId);
      return true;
    });
    if (told === undefined) this.#owed.add(turnId);
    this.#letGo(turnId);
  }

  async get(turnId: TurnId, looking: Looking = {}): Promise<TurnRecord | undefined> {
    const record = await this.#home(turnId).get(turnId, looking);
    return record === undefined ? undefined : this.#marked(record);
  }

  async list(filter: TurnFilter): Promise<readonly TurnRecord[]> {
    const stored = await this.#health.orDegraded(() => this.#health.store.list(filter));
    const inMemory = await this.#memory.list(filter);
    const all = [...inMemory, ...(stored ?? []).filter(({ turnId }) => !this.#inMemory.has(turnId))];
    const newestFirst = all.sort((a, b) => b.createdAtMs - a.createdAtMs);
    return newestFirst.slice(0, filter.limit).map((record) => this.#marked(record));
  }

  /**
   * A stream stays where it was made. While the store fails, a new one is made in memory; one that the store holds, or may
   * hold, is not there for now: `degraded`, never a second one in its place.
   */
  async attachStream(...attach: Parameters<StreamStore["attachStream"]>): Promise<AttachedStream> {
    const [name, intent] = attach;
    if (await this.#holdsStream(name)) return this.#attachHere(...attach);
    const id = idOf(name);
    const ask = this.#health.degradedBy === undefined || intent !== "create" || this.#storedStreams.has(id);
    if (ask) {
      const stored = await this.#health.orDegraded(() => this.#health.store.attachStream(...attach));
      if (stored !== undefined) {
        this.#storedStreams.add(id);
        return stored;
      }
      if (intent !== "create" || this.#storedStreams.has(id)) throw this.#health.why();
    }
    return this.#attachHere(...attach);
  }

  async #attachHere(...attach: Parameters<StreamStore["attachStream"]>): Promise<AttachedStream> {
    return { ...(await this.#memory.attachStream(...attach)), degraded: true };
  }

  async #holdsStream(name: StreamName): Promise<boolean> {
    try {
      await this.#memory.attachStream(name, "observe");
      return true;
    } catch (error) {
      if (isMillraceError(error) && error.code === "expired") return false;
      throw error;
    }
  }

  /** Where the stream was attached: what was acknowledged stays where it can be found again. */
  async admit(...[stream, message, start]: Parameters<StreamStore["admit"]>): Promise<Admitted> {
    const store = stream.degraded ? this.#memory : this.#health.store;
    const admitted = await store.admit(stream, message, start);
    if (admitted.outcome !== "admitted" || admitted.turn === undefined || start === undefined) return admitted;
    const { record, writer } = admitted.turn;
    if (stream.degraded) this.#inMemory.add(record.turnId);
    const kept = this.#writerOf(start.turn, start.owner, stream.name.clientKey, writer, async () => []);
    return { outcome: "admitted", turn: { record: this.#marked(record), writer: kept } };
  }

  untilSuperseded(stream: Pick<AttachedStream, "name" | "epoch" | "degraded">, signal: AbortSignal): Promise<void> {
    return (stream.degraded ? this.#memory : this.#health.store).untilSuperseded(stream, signal);
  }

  async remove(turnId: TurnId): Promise<void> {
    await this.#memory.remove(turnId);
    if (!this.#inMemory.delete(turnId) || this.#health.degradedBy === undefined)
      await this.#health.store.remove(turnId);
    this.#writers.delete(turnId);
    this.#moves.wake(turnId);
  }

  async renewOwner(owner: string, aliveUntilMs: number): Promise<void> {
    await this.#memory.renewOwner(owner, aliveUntilMs);
    await this.#health.orDegraded(() => this.#health.store.renewOwner(owner, aliveUntilMs));
  }

  async owners(): Promise<ReadonlyMap<string, number>> {
    return (await this.#health.orDegraded(() => this.#health.store.owners())) ?? this.#memory.owners();
  }

  async sweep(nowMs: number): Promise<void> {
    await this.#memory.sweep(nowMs);
    for (const turnId of this.#justEnded.longAgo()) this.#letGo(turnId);
    for (const [turnId, writer] of this.#writers)
      if (writer.inMemory && writer.ended) await this.#forgetExpired(turnId);
    await this.#health.orDegraded(() => this.#health.store.sweep(nowMs));
  }

  async close(): Promise<void> {
    await this.#health.stop();
    this.#moves.wakeAll();
    await this.#health.closeStore();
    await this.#memory.close();
  }

  /** What memory no longer keeps has nothing to bring back. */
  async #forgetExpired(turnId: TurnId): Promise<void> {
    try {
      await this.#memory.get(turnId);
    } catch {
      this.#writers.delete(turnId); // expired: the tombstone stays in memory for its day
    }
  }

  #home(turnId: TurnId): LogStore {
    return this.#inMemory.has(turnId) ? this.#memory : this.#health.store;
  }

  #marked(record: TurnRecord): TurnRecord {
    if (this.#inMemory.has(record.turnId)) return { ...record, degraded: true };
    return this.#owed.has(record.turnId) ? { ...record, delivered: true } : record;
  }

  #writerOf(
    turn: NewTurn,
    owner: string,
    clientKey: Secret | undefined,
    writer: LogWriter,
    readAll: () => Promise<readonly TurnEvent[]>,
  ): LogWriter {
    const { turnId } = turn;
    const made = new FallbackWriter({
      turn,
      owner,
      writer,
      inMemory: this.#inMemory.has(turnId),
      clientKey,
      readAll,
      memory: this.#memory,
      primary: () => this.#health.store,
      onMoved: (inMemory, cause) => this.#moved(turnId, inMemory, cause),
      onDelivered: () => this.noteDelivered(turnId),
      onEnded: () => {
        const tooMany = this.#inMemory.has(turnId) ? undefined : this.#justEnded.add(turnId);
        if (tooMany !== undefined) this.#letGo(tooMany);
      },
    });
    this.#writers.set(turnId, made);
    return made;
  }

  /** A turn that ended in the store and was read, or that nobody reads, needs nothing here. */
  #letGo(turnId: TurnId): void {
    if (this.#justEnded.delete(turnId) && !this.#inMemory.has(turnId)) this.#writers.delete(turnId);
  }

  #moved(turnId: TurnId, inMemory: boolean, cause: unknown): void {
    if (inMemory) this.#inMemory.add(turnId);
    else this.#inMemory.delete(turnId);
    if (inMemory && isDegraded(cause)) this.#health.degrade(cause);
    this.#moves.wake(turnId);
  }

  /** What only memory holds goes back into the store. */
  async #bringBack(store: LogStore): Promise<void> {
    for (const [turnId, writer] of this.#writers) {
      await writer.heal();
      if (writer.ended && !writer.inMemory) this.#writers.delete(turnId);
    }
    await this.#owed.pay(store);
  }

  /** Whether the turn could be moved into memory after its store failed: only what this process writes can. */
  async #retreated(turnId: TurnId, error: unknown): Promise<boolean> {
    const writer = this.#writers.get(turnId);
    if (!isDegraded(error) || writer === undefined || writer.inMemory) return false;
    await writer.retreat(error);
    return true;
  }

  /** Works at the turn's home; when the turn moves meanwhile, or has to because its store cannot be read, at the other. */
  async #whereverItIs<T>(
    turnId: TurnId,
    signal: AbortSignal,
    work: (store: LogStore, here: AbortSignal) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const here = new AbortController();
      const either = AbortSignal.any([signal, here.signal]);
      const wasInMemory = this.#inMemory.has(turnId);
      void bestEffort(this.#moves.wait(turnId, either).then(() => here.abort(over)));
      try {
        return await work(this.#home(turnId), either);
      } catch (error) {
        if (signal.aborted) throw error;
        const hasMoved = this.#inMemory.has(turnId) !== wasInMemory; // known at once; `here` only follows
        if (!hasMoved && !here.signal.aborted && !(await this.#retreated(turnId, error))) throw error;
      } finally {
        here.abort(over);
      }
    }
  }
}

const never = new AbortController().signal;

/** Streams that are remembered as stored; the oldest are forgotten first. */
const mostRemembered = 10_000;

function idOf({ caller, name, clientKey }: StreamName): string {
  return createHash("sha256")
    .update(JSON.stringify([caller, name, clientKey?.reveal()]))
    .digest("base64url");
}

/** Why a wait here is given up; one for all, since a reason made anew each time captures a stack. */
const over = new Error("the wait is over");
