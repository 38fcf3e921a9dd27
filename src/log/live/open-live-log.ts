import { bestEffort, orAborted } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import { isDegraded, MillraceError } from "../../base/errors.ts";
import type { EventId, TurnId } from "../../base/ids.ts";
import { Notifier } from "../../base/notifier.ts";
import type { Secret } from "../../base/secret.ts";
import type {
  AttachedStream,
  AttachIntent,
  AttachProof,
  StreamHolder,
  StreamMessage,
  StreamName,
} from "../client-stream.ts";
import type { CancelledBy, TurnEvent } from "../event.ts";
import { seqOf } from "../event-id.ts";
import type { StoreLifecycle } from "../lifecycle.ts";
import type { LogCodec } from "../medium/codec.ts";
import { unknownTurn } from "../medium/open-log.ts";
import type { Opened } from "../medium/read-page.ts";
import type { OutlinedEvent } from "../outline.ts";
import { outlineEvent } from "../outline.ts";
import { defaultRetention, type Retention } from "../retention.ts";
import type {
  Admitted,
  Claimed,
  Created,
  CreateOptions,
  LogStore,
  LogWriter,
  Looking,
  NewTurn,
  Opening,
  ReadLimit,
  StartingTurn,
  StoreCapabilities,
  TurnFilter,
  TurnRecord,
} from "../store.ts";
import { BoundedSet } from "./bounded-set.ts";
import { LiveStreams } from "./live-streams.ts";
import type { LiveTurn } from "./live-turn.ts";
import { LiveTurns } from "./live-turns.ts";
import { OtherOwners } from "./other-owners.ts";
import { probeOwner, StoreHealth } from "./store-health.ts";

export interface LiveLogOptions {
  /** Opens the store; called again while it fails. Throws `degraded`. */
  readonly open: () => Promise<LogStore>;
  /** The abilities of the open store. */
  readonly capabilities: StoreCapabilities;
  readonly clock: Clock;
  /** How long memory keeps ended turns that could not be stored; unset: the default. */
  readonly retention?: Retention;
  /** The codec for streams that the store does not take; unset: they are kept in the clear. */
  readonly codec?: LogCodec;
  readonly events?: EventSink<StoreLifecycle>;
}

/**
 * A log whose running turns live in memory, with a store behind them. Readers in this process follow a turn that it writes in memory;
 * the store serves ended turns, restarts and other processes. A store that fails stops no answer: its turns stay in memory until it
 * takes them.
 */
export interface LiveLog extends LogStore {
  /** Why the store failed last, while it does. */
  readonly degradedBy: MillraceError | undefined;
}

export async function openLiveLog(options: LiveLogOptions): Promise<LiveLog> {
  const log = new Live(options);
  await log.tryOpen();
  return log;
}

/** Of a running turn it is stored this often at most that it is read; ms. */
const attachedAgainMs = 1_000;

/** How many deliveries are remembered that the store could not note. The request of an older one gets its answer once more. */
const mostOwed = 10_000;

/** One method for each call of the store. Longer than 300 lines because each call chooses between memory and the store. */
class Live implements LiveLog {
  readonly capabilities: StoreCapabilities;
  readonly #turns: LiveTurns;
  /** Turns that were delivered while the store could not be written: a repeated request must not get their answers again. */
  readonly #owed = new BoundedSet<TurnId>(mostOwed);
  readonly #streams: LiveStreams;
  readonly #health: StoreHealth;
  readonly #healed = new Notifier();
  /** Where other machines write the store too. */
  readonly #others: OtherOwners | undefined;

  constructor(options: LiveLogOptions) {
    const { clock, codec, retention = defaultRetention, open, events, capabilities } = options;
    this.capabilities = capabilities;
    this.#others = capabilities.sharedBetweenMachines === true ? new OtherOwners(clock) : undefined;
    this.#health = new StoreHealth({ open, clock, events, bringBack: (store) => this.#bringBack(store) });
    this.#streams = new LiveStreams(this.#health, clock, retention, codec);
    this.#turns = new LiveTurns({
      clock,
      retention,
      onUnstored: (error) => this.#health.degrade(error),
      onLeft: (turnId) => void bestEffort(this.#streams.memory.remove(turnId)), // what its stream in memory knows of it
    });
  }

  get degradedBy(): MillraceError | undefined {
    return this.#health.degradedBy;
  }

  get #store(): LogStore {
    return this.#health.store;
  }

  tryOpen(): Promise<void> {
    return this.#health.tryOpen();
  }

  async create(turn: NewTurn, owner: string, options: CreateOptions = {}): Promise<Created> {
    const { clientKey } = options;
    const twin = this.#turns.unstoredTwin(turn);
    if (twin !== undefined) return { record: this.#recordOf(twin), writer: undefined };
    this.#refuseBesideOthers();
    // a store that just failed is not asked again for each turn: healing finds out when it is back
    const created =
      this.#health.degradedBy === undefined
        ? await this.#health.orDegraded(() => this.#store.create(turn, owner, options))
        : undefined;
    if (created !== undefined && created.writer === undefined) return created;
    if (created === undefined) this.#refuseBesideOthers(); // if the store has the turn after all, its owner finds it there
    const held = created === undefined ? await this.#heldUnderKeyOf(turn) : undefined;
    if (held !== undefined) return { record: held, writer: undefined };
    return this.#begin({ turn, owner, clientKey }, created?.writer, created?.record);
  }

  /** A store that cannot be written may be read still. */
  async #heldUnderKeyOf({ caller, idempotencyKey }: NewTurn): Promise<TurnRecord | undefined> {
    if (idempotencyKey === undefined) return undefined;
    const [held] = (await this.#health.orDegraded(() => this.#store.list({ caller, idempotencyKey, limit: 1 }))) ?? [];
    return held;
  }

  async listRunning(options: { readonly exceptOwner?: string } = {}): Promise<readonly TurnRecord[]> {
    const stored = (await this.#health.orDegraded(() => this.#store.listRunning(options))) ?? [];
    const here = this.#turns.unstoredRunning().filter((live) => live.record.owner !== options.exceptOwner);
    return here.length === 0 ? stored : [...here.map((live) => this.#recordOf(live)), ...stored];
  }

  async oldestRunningMs(): Promise<number> {
    const here = this.#turns.unstoredRunning().map(({ turn }) => turn.createdAtMs);
    return Math.min(await this.#store.oldestRunningMs(), ...here);
  }

  async claim(turnId: TurnId, owner: string): Promise<Claimed | undefined> {
    const held = this.#turns.unexpired(turnId);
    if (held !== undefined && !held.isKnown) return this.#claimHere(held, owner);
    const claimed = await this.#store.claim(turnId, owner);
    if (claimed === undefined) return undefined;
    this.#turns.get(turnId)?.lose("fenced");
    const { record, writer } = claimed;
    const storedSeq = seqOf(record.lastEventId);
    const live = this.#turns.add({ turn: record, owner, opening: "claimed", writer, storedSeq });
    const readAll = async () => {
      const events = await claimed.readAll();
      live.remember(events);
      return events;
    };
    return { record, writer: live.handle(), readAll };
  }

  async readAfter(turnId: TurnId, after: EventId, options: ReadLimit & Opening): Promise<Opened<TurnEvent>> {
    const live = this.#turns.unexpired(turnId);
    if (live !== undefined && (await this.#opens(live, options.clientKey))) {
      const read = live.read(seqOf(after), options.limit);
      if (read !== undefined) return read;
    }
    return this.#store.readAfter(turnId, after, options);
  }

  async readOutlineAfter(turnId: TurnId, after: EventId, options: ReadLimit): Promise<Opened<OutlinedEvent>> {
    const read = this.#turns.unexpired(turnId)?.read(seqOf(after), options.limit);
    if (read === undefined) return this.#store.readOutlineAfter(turnId, after, options);
    return { events: read.events.map(outlineEvent), ended: read.ended };
  }

  async untilPast(turnId: TurnId, cursor: EventId, signal: AbortSignal): Promise<void> {
    const seq = seqOf(cursor);
    for (;;) {
      const live = this.#turns.unexpired(turnId);
      if (live === undefined) return this.#store.untilPast(turnId, cursor, signal);
      if (live.lastSeq > seq || live.outcome !== undefined) return;
      live.throwIfFailed();
      await live.changed(signal);
    }
  }

  async untilEnded(turnId: TurnId, signal: AbortSignal): Promise<void> {
    for (;;) {
      const live = this.#turns.unexpired(turnId);
      if (live === undefined) return this.#store.untilEnded(turnId, signal);
      if (live.outcome !== undefined) return;
      live.throwIfFailed();
      await orAborted(live.over, signal);
    }
  }

  async requestCancel(turnId: TurnId, by: CancelledBy, stream?: StreamHolder): Promise<boolean> {
    const live = this.#turns.unexpired(turnId);
    const inMemory = live !== undefined && stream?.degraded === true;
    if (inMemory && !(await this.#streams.memory.requestCancel(turnId, by, stream))) return false;
    try {
      const asked = live?.isKnown === false || this.#store.requestCancel(turnId, by, inMemory ? undefined : stream);
      if (!(await asked)) return false;
    } catch (error) {
      // its writer is in this process, which ends it whether that can be stored or not
      if (!isDegraded(error) || live === undefined) throw error;
    }
    live?.record.ask(by);
    return true;
  }

  async untilCancelRequested(turnId: TurnId, signal: AbortSignal): Promise<CancelledBy> {
    const live = this.#turns.unexpired(turnId);
    if (live === undefined) return this.#store.untilCancelRequested(turnId, signal);
    return Promise.race([live.record.asked, this.#untilAskedElsewhere(turnId, signal)]);
  }

  async noteReader(turnId: TurnId, atMs: number, graceMs?: number): Promise<void> {
    const live = this.#turns.unexpired(turnId);
    if (live?.outcome === undefined && live?.record.wasAttachedSince(atMs - attachedAgainMs) && graceMs === undefined)
      return; // as it is of a turn that its client has just started
    live?.record.attached(atMs, graceMs);
    if (live === undefined || live.isKnown)
      await this.#health.orDegraded(() => this.#store.noteReader(turnId, atMs, graceMs));
  }

  async keepTogether(turnIds: readonly TurnId[]): Promise<void> {
    await this.#health.orDegraded(() => this.#store.keepTogether(turnIds));
    const last = turnIds.at(-1);
    const newest = last === undefined ? undefined : this.#turns.get(last);
    if (newest === undefined || newest.isKnown) return;
    const keptUntilMs = newest.record.expiresAtMs();
    for (const turnId of turnIds) {
      const record = this.#turns.get(turnId)?.record;
      if (record !== undefined) record.keptUntilMs = keptUntilMs;
    }
  }

  async noteDelivered(turnId: TurnId): Promise<void> {
    const live = this.#turns.get(turnId);
    if (live !== undefined) live.record.delivered = true;
    const told = await this.#health.orDegraded(async () => {
      if (live === undefined || live.isKnown) await this.#store.noteDelivered(turnId);
      return live === undefined || live.isStored;
    });
    if (told !== true) this.#owed.add(turnId);
    this.#turns.delivered(turnId);
  }

  async get(turnId: TurnId, looking: Looking = {}): Promise<TurnRecord | undefined> {
    const unstored = this.#turns.get(turnId);
    if (unstored?.isStored === false) return this.#shown(unstored, looking);
    const live = this.#turns.unexpired(turnId);
    try {
      const record = await this.#store.get(turnId, looking);
      if (record === undefined) return undefined;
      if (live !== undefined && record.owner !== live.record.owner) live.lose("fenced"); // another process has taken it over
      return this.#marked(record);
    } catch (error) {
      if (!isDegraded(error) || live === undefined || !live.opensTo(looking.clientKey)) throw error;
      return this.#shown(live, looking);
    }
  }

  async list(filter: TurnFilter): Promise<readonly TurnRecord[]> {
    const stored = await this.#health.orDegraded(() => this.#store.list(filter));
    const here = this.#turns.all().filter((live) => stored === undefined || !live.isStored);
    const ids = new Set(here.map(({ turnId }) => turnId));
    const shown = here.flatMap((live) => {
      if (!live.record.passes(filter, live.outcome !== undefined)) return [];
      return live.record.hasExpired() ? [] : (this.#shown(live, {}) ?? []);
    });
    const rest = (stored ?? []).filter(({ turnId }) => !ids.has(turnId)).map((record) => this.#marked(record));
    if (shown.length === 0) return rest;
    return [...shown.reverse(), ...rest].sort((a, b) => b.createdAtMs - a.createdAtMs).slice(0, filter.limit);
  }

  async attachStream(name: StreamName, intent: AttachIntent, proof?: AttachProof): Promise<AttachedStream> {
    if (intent === "create") this.#refuseBesideOthers();
    return this.#streams.attach(name, intent, proof);
  }

  /** Admits a message in the store to which the stream was attached, so that acknowledged messages stay together. */
  async admit(stream: StreamHolder, message: StreamMessage, start?: StartingTurn): Promise<Admitted> {
    const admitted = await this.#streams.homeOf(stream).admit(stream, message, start);
    if (admitted.outcome !== "admitted" || admitted.turn === undefined || start === undefined) return admitted;
    const { record, writer } = admitted.turn;
    const { clientKey } = stream.name;
    const begun = this.#begin({ ...start, clientKey }, stream.degraded ? undefined : writer, record);
    return { outcome: "admitted", turn: begun };
  }

  untilSuperseded(stream: StreamHolder, signal: AbortSignal): Promise<void> {
    return this.#streams.homeOf(stream).untilSuperseded(stream, signal);
  }

  async remove(turnId: TurnId): Promise<void> {
    const live = this.#turns.get(turnId);
    this.#turns.letGo(turnId);
    live?.lose("removed");
    if (live === undefined || live.isKnown || this.#health.degradedBy === undefined) await this.#store.remove(turnId);
  }

  async renewOwner(owner: string, aliveUntilMs: number): Promise<void> {
    await this.#streams.memory.renewOwner(owner, aliveUntilMs);
    await this.#health.orDegraded(async () => {
      await this.#store.renewOwner(owner, aliveUntilMs);
      if (this.#others === undefined) return;
      if (aliveUntilMs === 0) {
        this.#others.gone(owner);
        return;
      }
      this.#others.note(await this.#store.owners(), owner);
      await Promise.all(this.#turns.all().map((live) => this.#loseIfElsewhere(live)));
    });
  }

  async holdsTurn(turnId: TurnId, owner: string, aliveUntilMs: number): Promise<boolean> {
    const live = this.#turns.get(turnId);
    if (live === undefined) return false; // another process owns it, or none does
    if (live.isStored && this.#health.degradedBy === undefined) {
      const held = await this.#health.orDegraded(() => this.#store.holdsTurn(turnId, owner, aliveUntilMs));
      if (held !== undefined) return held;
    }
    return this.#others?.mayWrite !== true;
  }

  async owners(): Promise<ReadonlyMap<string, number>> {
    const owners = (await this.#health.orDegraded(() => this.#store.owners())) ?? (await this.#streams.memory.owners());
    return new Map([...owners].filter(([owner]) => owner !== probeOwner));
  }

  async sweep(nowMs: number): Promise<void> {
    await this.#streams.memory.sweep(nowMs);
    this.#turns.sweep(nowMs);
    await this.#health.orDegraded(() => this.#store.sweep(nowMs));
  }

  async close(): Promise<void> {
    await this.#health.stop();
    for (const live of this.#turns.all()) live.lose("fenced"); // its readers ask the store, which says that it is closed
    await this.#health.closeStore();
    await this.#streams.memory.close();
  }

  /** A turn whose runner has stopped appends nothing, so no append finds out that another process took it over. */
  async #loseIfElsewhere(live: LiveTurn): Promise<void> {
    if (!live.isKnown || live.outcome !== undefined) return;
    if ((await this.get(live.turnId)) === undefined) live.lose("removed");
  }

  /** Another gateway would ask again for a turn that only this machine knows. Throws `unavailable`. */
  #refuseBesideOthers(): void {
    if (this.#health.degradedBy === undefined || this.#others?.mayWrite !== true) return;
    throw new MillraceError("unavailable", "This gateway cannot reach the store that it shares with other gateways.", {
      hint: "It starts no turn until the store is back. Send the request again: another gateway may take it.",
      retryAfterMs: 1_000,
      cause: this.#health.degradedBy,
    });
  }

  #begin(
    {
      turn,
      owner,
      clientKey,
    }: { readonly turn: NewTurn; readonly owner: string; readonly clientKey: Secret | undefined },
    writer: LogWriter | undefined,
    record: TurnRecord | undefined,
  ): { readonly record: TurnRecord; readonly writer: LogWriter } {
    const live = this.#turns.add({ turn, owner, opening: { clientKey }, writer, storedSeq: 0 });
    return {
      record: writer !== undefined && record !== undefined ? record : this.#recordOf(live),
      writer: live.handle(),
    };
  }

  #claimHere(live: LiveTurn, owner: string): Claimed | undefined {
    if (live.outcome !== undefined) return undefined;
    const writer = live.reclaimed(owner);
    const readAll = async () => live.read(0, Number.MAX_SAFE_INTEGER)?.events ?? [];
    return { record: this.#recordOf(live), writer, readAll };
  }

  /** Whether a reader with this key may read the turn in memory; where only the store knows, it is asked once. */
  async #opens(live: LiveTurn, clientKey: Secret | undefined): Promise<boolean> {
    if (live.opensTo(clientKey)) return true;
    if (!live.isKnown) throw unknownTurn();
    if (!live.isClaimed) return false; // the store says it, in its words and its time
    const record = await this.#store.get(live.turnId, { clientKey });
    if (record === undefined || record.sealed === true) return false;
    live.wasOpenedBy(clientKey);
    return true;
  }

  #recordOf(live: LiveTurn): TurnRecord {
    const record = this.#shown(live, { clientKey: live.record.clientKey });
    if (record === undefined) throw unknownTurn();
    return record;
  }

  #shown(live: LiveTurn, looking: Looking): TurnRecord | undefined {
    return live.record.shown(looking, live);
  }

  #marked(record: TurnRecord): TurnRecord {
    return this.#owed.has(record.turnId) ? { ...record, delivered: true } : record;
  }

  /** Writes the events that only memory holds back into the store. */
  async #bringBack(store: LogStore): Promise<void> {
    for (const live of this.#turns.all()) await live.heal(store);
    for (const turnId of this.#owed) {
      await store.noteDelivered(turnId);
      this.#owed.delete(turnId);
    }
    this.#healed.wake();
  }

  /** Whether another process asked; waits for the store to be well while it is not. */
  async #untilAskedElsewhere(turnId: TurnId, signal: AbortSignal): Promise<CancelledBy> {
    for (;;) {
      try {
        return await this.#store.untilCancelRequested(turnId, signal);
      } catch (error) {
        if (signal.aborted || !isDegraded(error)) throw error;
      }
      await this.#healed.wait(signal);
    }
  }
}
