import { randomBytes } from "node:crypto";
import { bestEffort, orAborted } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import { isDegraded, type MillraceError } from "../base/errors.ts";
import type { EventId, TurnId } from "../base/ids.ts";
import type { Secret } from "../base/secret.ts";
import { type CancelledBy, type OutlinedEvent, outlineEvent, seqOf } from "./event.ts";
import { followLease, leases, renewLease } from "./lease.ts";
import { LiveTurn } from "./live-turn.ts";
import { type CancelFollower, LiveTurns } from "./live-turns.ts";
import { Medium } from "./medium.ts";
import { notStored, type Rows, type RowsAbilities, unknownTurn } from "./rows.ts";
import { encodeKey, keyBytes } from "./sealing/keys.ts";
import { openSqliteRows } from "./sqlite.ts";
import {
  type AttachedStream,
  type AttachIntent,
  type CreateOptions,
  defaultRetention,
  type LogStore,
  type MessageAdmission,
  type NewTurn,
  type ReadLimit,
  type ReadRight,
  type Retention,
  type StreamHolder,
  type StreamName,
  type TurnFilter,
  type TurnLabel,
  type TurnLookup,
  type TurnRecord,
} from "./store.ts";
import { type LogOptions, StoreHealth } from "./store-health.ts";
import { Streams } from "./streams.ts";
import { type Page, TurnLog } from "./turn-log.ts";
import { metaOf } from "./turn-row.ts";
import { TurnRows } from "./turn-rows.ts";

/**
 * A log whose running turns live in memory, with a store behind them. Readers in this process follow a turn that it writes in memory;
 * the store serves ended turns, restarts and other processes. A store that fails stops no answer: a turn goes on in memory, and is
 * not stored later.
 */
export interface LiveLog extends LogStore {
  /** Why the store failed last, while it does. */
  readonly degradedBy: MillraceError | undefined;
}

/** Never throws `degraded`: a store that cannot be opened is tried again. */
export async function openLog(options: LogOptions): Promise<LiveLog> {
  const log = new Live(options);
  await log.open();
  return log;
}

/** A log that ends with this process. */
export function openMemoryLog(options: Pick<LogOptions, "clock" | "retention">): Promise<LiveLog> {
  const abilities = { survivesRestart: false, isShared: false };
  return openLog({ open: openMemory, abilities, ...options });
}

/** Sealed as a file is, under a key that is not stored, so that only the client can read its turns here too. */
async function openMemory() {
  return { rows: await openSqliteRows({ path: ":memory:" }), gatewayKey: encodeKey(randomBytes(keyBytes)) };
}

/** One medium with what works on it. */
interface Store {
  readonly medium: Medium;
  readonly records: TurnRows;
  readonly turns: TurnLog;
  readonly streams: Streams;
}

/** The owner under which a store is tried whether it takes writes. */
const probeOwner = "probe";

/** Of a running turn it is stored this often at most that it is read; ms. */
const attachedAgainMs = 1_000;

/** One method for each call of the store. Longer than 300 lines because each call chooses between memory and the store. */
export class Live implements LiveLog {
  readonly capabilities: RowsAbilities;
  readonly #clock: Clock;
  readonly #retention: Retention;
  readonly #health: StoreHealth<Store>;
  readonly #turns: LiveTurns;
  /** Streams that began while the store failed. */
  #memory: Promise<Store> | undefined;
  /** Until when the lease lasts that the store has of each owner; epoch ms. */
  readonly #leasedUntilMs = new Map<string, number>();

  constructor({ clock, retention = defaultRetention, open, events, abilities }: LogOptions) {
    this.capabilities = abilities;
    this.#clock = clock;
    this.#retention = retention;
    const follow: CancelFollower = (owner, onCancel, signal) =>
      void bestEffort(followLease(() => this.#health.store.medium.rows, { owner, onCancel, clock }, signal));
    this.#turns = new LiveTurns(clock, abilities.isShared ? follow : undefined);
    this.#health = new StoreHealth<Store>({
      open: async () => this.#over(await open()),
      probe: async ({ medium, turns }) => {
        await renewLease(medium.rows, probeOwner, clock.now());
        await this.#removeUnasked(turns);
      },
      clock,
      events,
    });
  }

  get degradedBy(): MillraceError | undefined {
    return this.#health.degradedBy;
  }

  open(): Promise<void> {
    return this.#health.open();
  }

  async create(turn: NewTurn, owner: string, options: CreateOptions = {}): ReturnType<LogStore["create"]> {
    const { clientKey } = options;
    const failed = this.#health.degradedBy; // a store that just failed is not asked again for each turn
    const created =
      failed === undefined
        ? await this.#health.orDegraded(() => this.#health.store.turns.create(turn, owner, options))
        : undefined;
    if (created !== undefined) {
      if ("held" in created) return { record: this.#turns.newest(created.held), writer: undefined };
      return { record: created.record, writer: this.#add(created, this.#health.store.medium) };
    }
    const why = this.#health.degradedBy;
    // another gateway may go on with a turn of which it is not known whether it was stored
    const isUnclear = failed === undefined && this.capabilities.isShared;
    if (why !== undefined && (turn.idempotencyKey !== undefined || isUnclear)) throw notStored(why);
    return this.#beginInMemory(turn, owner, clientKey);
  }

  async claim(turnId: TurnId, owner: string, from?: string): ReturnType<LogStore["claim"]> {
    const { turns, medium, records } = this.#health.store;
    const claimed = await turns.claim(turnId, owner, from);
    if (claimed === undefined) return undefined;
    this.#turns.get(turnId)?.lose("fenced");
    const writer = this.#add(claimed, medium);
    // a cancel that was stored meanwhile found no writer in this process
    const { cancel } = metaOf(await records.usable(turnId));
    if (cancel !== undefined) writer.requestCancel(cancel);
    const readAll = async () => {
      const events = await turns.readAll(turnId, seqOf(claimed.record.lastEventId));
      writer.recall(events);
      return events;
    };
    return { record: claimed.record, writer, readAll };
  }

  async readAfter(turnId: TurnId, after: EventId, options: ReadLimit & ReadRight): Promise<Page> {
    return this.#page(turnId, seqOf(after), options, () => {
      const live = this.#turns.current(turnId);
      if (live?.opensTo(options.clientKey) === false) throw unknownTurn();
      return live?.isOutline === true ? undefined : live;
    });
  }

  async readOutlineAfter(turnId: TurnId, after: EventId, options: ReadLimit): Promise<Page<OutlinedEvent>> {
    const { events, ended } = await this.#page(turnId, seqOf(after), options, () => this.#turns.current(turnId));
    return { events: events.map(outlineEvent), ended };
  }

  async untilEnded(turnId: TurnId, signal: AbortSignal): Promise<void> {
    for (let live = this.#turns.current(turnId); live !== undefined; live = this.#turns.current(turnId)) {
      if (live.hasEnded) return;
      live.throwIfFailed();
      await orAborted(live.over, signal);
    }
    await this.#health.store.turns.until(turnId, (row) => !row.open, signal);
  }

  async requestCancel(turnId: TurnId, by: CancelledBy, stream?: StreamHolder): Promise<boolean> {
    const live = this.#turns.current(turnId);
    if (stream?.degraded === true && !(await (await this.#memoryStore()).streams.isHeld(stream))) return false;
    const held = stream?.degraded === false ? this.#health.store.streams.held(stream) : undefined;
    try {
      const isAsked =
        live?.isKnown === false || (await this.#health.store.turns.requestCancel(turnId, by, held, live !== undefined));
      if (!isAsked) return false;
    } catch (error) {
      // its writer is in this process, which ends it whether that can be stored or not
      if (!isDegraded(error) || live === undefined) throw error;
    }
    (this.#turns.current(turnId) ?? live)?.requestCancel(by); // it may have been claimed here meanwhile
    return true;
  }

  async untilCancelRequested(turnId: TurnId, signal: AbortSignal): Promise<CancelledBy> {
    const live = this.#turns.current(turnId);
    if (live !== undefined) return orAborted(live.cancelRequest, signal);
    const { turns } = this.#health.store;
    const row = await turns.until(turnId, (found) => metaOf(found).cancel !== undefined, signal);
    return metaOf(row).cancel ?? "client";
  }

  async noteReader(turnId: TurnId, atMs: number, graceMs?: number): Promise<void> {
    const live = this.#turns.current(turnId);
    if (live?.hasEnded === false && live.wasAttachedSince(atMs - attachedAgainMs) && graceMs === undefined) return; // as it is of a turn that its client has just started
    live?.attached(atMs, graceMs);
    if (live === undefined || live.isKnown)
      await this.#health.orDegraded(() => this.#health.store.turns.noteReader(turnId, atMs, graceMs));
  }

  async keepTogether(turnIds: readonly TurnId[]): Promise<void> {
    await this.#health.orDegraded(() => this.#health.store.turns.keepTogether(turnIds));
    const last = turnIds.at(-1);
    const newest = last === undefined ? undefined : this.#turns.get(last)?.shown({})?.expiresAtMs;
    for (const turnId of newest === undefined ? [] : turnIds) this.#turns.get(turnId)?.keepUntil(newest ?? 0);
  }

  async noteDelivered(turnId: TurnId): Promise<void> {
    const live = this.#turns.get(turnId);
    live?.delivered();
    if (live === undefined || live.isKnown)
      await this.#health.orDegraded(() => this.#health.store.turns.noteDelivered(turnId));
    if (live?.isDegraded !== false || !live.hasEnded) return;
    if (live.opensTo(undefined)) this.#turns.letGo(turnId);
    else live.keepOutline(); // of a sealed turn nobody else has it
  }

  async get(turnId: TurnId, looking: TurnLookup = {}): Promise<TurnRecord | undefined> {
    const live = this.#turns.current(turnId);
    if (live?.isDegraded === true) return live.shown(looking);
    try {
      const record = await this.#health.store.records.get(turnId, looking);
      if (record !== undefined && live !== undefined && record.owner !== live.owner) live.lose("fenced"); // another process has taken it over
      return record;
    } catch (error) {
      if (!isDegraded(error) || live === undefined || live.isOutline) throw error;
      return live.shown(looking);
    }
  }

  async getLabel(turnId: TurnId): Promise<TurnLabel | undefined> {
    const live = this.#turns.current(turnId);
    if (live?.isDegraded === true) return live.shown({});
    try {
      return await this.#health.store.records.getLabel(turnId);
    } catch (error) {
      if (!isDegraded(error) || live === undefined) throw error;
      return live.shown({});
    }
  }

  async list(filter: TurnFilter): Promise<readonly TurnLabel[]> {
    const stored = await this.#health.orDegraded(() => this.#health.store.records.list(filter));
    const nowMs = this.#clock.now();
    const here = this.#turns
      .all()
      .filter((live) => (stored === undefined || live.isDegraded) && !live.hasExpired(nowMs));
    if (here.length === 0) return stored ?? [];
    const ids = new Set(here.map(({ turnId }) => turnId));
    const shown = here.filter((live) => live.passes(filter)).flatMap((live) => live.shown({}) ?? []);
    const rest = (stored ?? []).filter(({ turnId }) => !ids.has(turnId));
    return [...shown.reverse(), ...rest].sort((a, b) => b.createdAtMs - a.createdAtMs).slice(0, filter.limit);
  }

  async listRunning(options: { readonly exceptOwner?: string } = {}): Promise<readonly TurnLabel[]> {
    const stored = (await this.#health.orDegraded(() => this.#health.store.records.listRunning(options))) ?? [];
    return stored.map((record) => this.#turns.newest(record)).filter(({ ended }) => !ended);
  }

  async oldestRunningMs(): Promise<number> {
    const here = this.#turns.all().filter((live) => live.isDegraded && !live.hasEnded);
    const times = here.map((live) => live.shown({})?.createdAtMs ?? 0);
    return Math.min(await this.#health.store.records.oldestRunningMs(), ...times);
  }

  async attachStream(name: StreamName, intent: AttachIntent, ticket?: Secret): Promise<AttachedStream> {
    if (this.#memory === undefined || !(await (await this.#memory).streams.has(name))) {
      const stored = await this.#health.orDegraded(() => this.#health.store.streams.attach(name, intent, ticket));
      if (stored !== undefined) return stored;
      // what the store holds, or may hold, never gets a second stream in its place
      const isHeld = await this.#health.orDegraded(async () => {
        const { streams } = this.#health.store;
        return streams.wasSeen(name) || streams.has(name);
      });
      if (intent !== "create" || isHeld === true) throw this.#health.degradedBy ?? unknownTurn();
    }
    const { streams } = await this.#memoryStore();
    return { ...(await streams.attach(name, intent, ticket)), degraded: true };
  }

  /** Admits a message in the store to which the stream was attached, so that acknowledged messages stay together. */
  async admit(...[stream, message, start]: Parameters<LogStore["admit"]>): Promise<MessageAdmission> {
    const { streams, turns, medium } = stream.degraded ? await this.#memoryStore() : this.#health.store;
    const begun = start && turns.begin(start.turn, start.owner, stream.name.clientKey);
    const insert = stream.degraded || begun === undefined ? {} : { insert: begun.insert };
    const outcome = await streams.admit(stream, message, begun && { turnId: begun.record.turnId, ...insert });
    if (outcome !== "admitted") return { outcome };
    if (begun === undefined) return { outcome, turn: undefined };
    const live = this.#add(stream.degraded ? { ...begun, chain: undefined } : begun, medium);
    return { outcome, turn: { record: { ...begun.record, degraded: stream.degraded }, writer: live } };
  }

  async untilSuperseded(stream: StreamHolder, signal: AbortSignal): Promise<void> {
    const { streams } = stream.degraded ? await this.#memoryStore() : this.#health.store;
    await streams.untilSuperseded(stream, signal);
  }

  async remove(turnId: TurnId): Promise<void> {
    const live = this.#turns.get(turnId);
    live?.lose("removed");
    if (live === undefined || live.isKnown) await this.#health.store.turns.remove(turnId);
  }

  async renewOwner(owner: string, aliveUntilMs: number): Promise<void> {
    await this.#health.orDegraded(async () => {
      await this.#renewLease(owner, aliveUntilMs);
      if (!this.capabilities.isShared || aliveUntilMs === 0) return;
      // a turn whose runner has stopped appends nothing, so no append finds out that another process took it over
      const stored = this.#turns.all().filter((live) => !live.isDegraded && !live.hasEnded);
      for (const live of stored) {
        const its = await this.#health.store.records.ownerOf(live.turnId);
        if (its !== undefined && its !== live.owner) live.lose("fenced");
      }
    });
  }

  async holdsTurn(turnId: TurnId, owner: string, aliveUntilMs: number): Promise<boolean> {
    const live = this.#turns.get(turnId);
    if (live === undefined) return false; // another process owns it, or none does
    if (!live.isKnown) return true;
    const held = await this.#health.orDegraded(async () => {
      await this.#renewLease(owner, aliveUntilMs);
      return (await this.#health.store.records.ownerOf(turnId)) === owner;
    });
    // nobody else may claim it before the lease ends that the store has
    return held ?? (this.#leasedUntilMs.get(owner) ?? 0) > this.#clock.now();
  }

  async owners(): Promise<ReadonlyMap<string, number>> {
    const known = (await this.#health.orDegraded(() => leases(this.#health.store.medium.rows))) ?? this.#leasedUntilMs;
    return new Map([...known].filter(([owner]) => owner !== probeOwner));
  }

  async sweep(nowMs: number): Promise<void> {
    this.#turns.sweep(nowMs);
    await this.#health.orDegraded(async () => {
      const { turns, medium } = this.#health.store;
      await this.#removeUnasked(turns);
      await medium.sweep(nowMs);
    });
    if (this.#memory !== undefined) await (await this.#memory).medium.sweep(nowMs);
  }

  async close(): Promise<void> {
    const store = await this.#health.stop();
    for (const live of this.#turns.all()) live.lose("fenced"); // its readers ask the store, which says that it is closed
    await store?.medium.rows.close();
    if (this.#memory !== undefined) await (await this.#memory).medium.rows.close();
  }

  /** Removes what the store has of turns whose first event it did not take: the next process would send their prompts once more. */
  async #removeUnasked(turns: TurnLog): Promise<void> {
    for (const live of this.#turns.all()) {
      if (!live.isKnown || !(live.isFailed || live.isUnprompted)) continue;
      await turns.removeOwn(live.turnId, live.epoch);
      // the next request with the key of one that failed starts it anew; of the other one memory has the answer
      if (live.isFailed) live.lose("removed");
      else live.forget();
    }
  }

  #over(opened: { readonly rows: Rows; readonly gatewayKey: Secret }): Store {
    const medium = new Medium(opened, { clock: this.#clock, retention: this.#retention });
    const records = new TurnRows(medium, (turnId) => this.#turns.get(turnId)?.facts);
    return { medium, records, turns: new TurnLog(medium, records), streams: new Streams(medium) };
  }

  #memoryStore(): Promise<Store> {
    return (this.#memory ??= openMemory().then((opened) => this.#over(opened)));
  }

  async #beginInMemory(turn: NewTurn, owner: string, clientKey: Secret | undefined) {
    const { turns, medium } = await this.#memoryStore();
    const begun = turns.begin(turn, owner, clientKey);
    return { record: { ...begun.record, degraded: true }, writer: this.#add({ ...begun, chain: undefined }, medium) };
  }

  /** A page of memory where memory has it, else of the store. */
  async #page(
    turnId: TurnId,
    seq: number,
    { limit, wait, clientKey }: ReadLimit & ReadRight,
    inMemory: () => LiveTurn | undefined,
  ): Promise<Page> {
    const isNews = ({ events, ended }: Page) => events.length > 0 || ended;
    for (let live = inMemory(); live !== undefined; live = inMemory()) {
      const page = live.read(seq, limit);
      if (page === undefined) break;
      if (wait === undefined || isNews(page)) return page;
      await live.changed(wait);
    }
    for (;;) {
      const page = await this.#health.store.turns.read(turnId, seq, limit, { clientKey });
      if (wait === undefined || isNews(page)) return page;
      await this.#health.store.turns.until(turnId, (row) => row.last > seq || !row.open, wait);
    }
  }

  #add(
    { record, row, chain }: Pick<ConstructorParameters<typeof LiveTurn>[0], "record" | "row" | "chain">,
    medium: Medium,
  ): LiveTurn {
    const { turnId } = record;
    const live: LiveTurn = new LiveTurn({
      record,
      row,
      medium,
      chain,
      onUnstored: (error) => this.#health.degrade(error),
      onEnded: () => this.#turns.keepEnded(live),
      onLost: () => {
        if (this.#turns.get(turnId) === live) this.#turns.letGo(turnId);
      },
    });
    this.#turns.add(live);
    return live;
  }

  async #renewLease(owner: string, aliveUntilMs: number): Promise<void> {
    await renewLease(this.#health.store.medium.rows, owner, aliveUntilMs);
    this.#leasedUntilMs.set(owner, aliveUntilMs);
  }
}
