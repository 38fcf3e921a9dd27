import { bestEffort, orAborted } from "../base/async.ts";
import { isDegraded, type MillraceError } from "../base/errors.ts";
import type { EventId, TurnId } from "../base/ids.ts";
import type { Secret } from "../base/secret.ts";
import { type CancelledBy, type OutlinedEvent, outlineEvent, seqOf } from "./event.ts";
import { hearCancel, renewHome, untilNews } from "./homes.ts";
import { LiveTurn } from "./live-turn.ts";
import { LiveTurns } from "./live-turns.ts";
import type { Medium } from "./medium.ts";
import { openMemory, type Store, storeOver } from "./opened-store.ts";
import { readAll } from "./read-turn.ts";
import { homeIsGone, homeOf, notStored, type Row, type RowsAbilities, unknownTurn } from "./rows.ts";
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
  type StreamHolder,
  type StreamName,
  type TurnFilter,
  type TurnLabel,
  type TurnLookup,
  type TurnRecord,
} from "./store.ts";
import { type LogOptions, StoreHealth } from "./store-health.ts";
import type { Page, TurnLog } from "./turn-log.ts";
import { metaOf } from "./turn-row.ts";

/**
 * A log whose running turns live in memory, with a store behind them. Readers in this process follow a turn that it writes in memory;
 * the store serves ended turns, restarts and other processes. A store that fails stops no answer: a turn goes on in memory, and what
 * the store lacks is written once it works again.
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

/** Of a running turn it is stored this often at most that it is read; ms. */
const attachedAgainMs = 1_000;

/** One method for each call of the store. Longer than 300 lines because each call chooses between memory and the store. */
export class Live implements LiveLog {
  readonly capabilities: RowsAbilities;
  readonly #place: Parameters<typeof storeOver>[1];
  readonly #home: string | undefined;
  readonly #health: StoreHealth<Store>;
  readonly #turns: LiveTurns;
  /** Streams that began while the store failed. */
  #memory: Promise<Store> | undefined;
  /** Turns of which it is not known whether the store has them, since it failed as they were stored. */
  readonly #unclear = new Set<TurnId>();

  constructor({ clock, retention = defaultRetention, open, events, abilities, home }: LogOptions) {
    this.capabilities = abilities;
    this.#home = home;
    this.#turns = new LiveTurns({ now: () => this.now(), monotonic: () => clock.monotonic() });
    this.#place = { clock, retention, turns: this.#turns };
    this.#health = new StoreHealth<Store>({
      open: async () => storeOver(await open(), this.#place),
      probe: async (store) => {
        await store.medium.probe();
        await renewHome(store.medium.rows, home, this.#turns.all()); // before anything else: others end the turns of a home that counts as gone
        await this.#catchUp(store.turns);
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
    if (failed === undefined) this.#unclear.add(turn.turnId);
    if (why !== undefined && turn.idempotencyKey !== undefined) throw notStored(why);
    return this.#beginInMemory(turn, owner, clientKey);
  }

  async claim(turnId: TurnId, owner: string): ReturnType<LogStore["claim"]> {
    return this.#health.orThrow(() => this.#claim(turnId, owner));
  }

  async #claim(turnId: TurnId, owner: string, isLeft = false): ReturnType<LogStore["claim"]> {
    const { turns, medium, records } = this.#health.store;
    const claimed = await turns.claim(turnId, owner, isLeft);
    this.#unclear.delete(turnId);
    if (claimed === undefined) return undefined;
    this.#turns.get(turnId)?.lose("fenced");
    const writer = this.#add(claimed, medium);
    // a cancel that was stored meanwhile found no writer in this process
    const { cancel } = metaOf(await records.usable(turnId));
    if (cancel !== undefined) writer.requestCancel(cancel);
    const readAfter = (id: TurnId, after: EventId, { limit }: ReadLimit) => turns.read(id, after, limit, "runner");
    return {
      record: claimed.record,
      writer,
      async readAll() {
        const events = await readAll({ readAfter }, turnId);
        writer.recall(events);
        return events;
      },
    };
  }

  async readAfter(turnId: TurnId, after: EventId, options: ReadLimit & ReadRight): Promise<Page> {
    return this.#page(turnId, after, { ...options, isTold: !this.capabilities.isShared }, () => {
      const live = this.#turns.current(turnId);
      if (live?.opensTo(options.clientKey) === false) throw unknownTurn();
      return live;
    });
  }

  async readOutlineAfter(turnId: TurnId, after: EventId, options: ReadLimit): Promise<Page<OutlinedEvent>> {
    const { events, ended } = await this.#page(turnId, after, options, () => this.#turns.current(turnId));
    return { events: events.map(outlineEvent), ended };
  }

  async untilEnded(turnId: TurnId, signal: AbortSignal): Promise<void> {
    for (let live = this.#turns.current(turnId); live !== undefined; live = this.#turns.current(turnId)) {
      if (live.hasEnded) return;
      live.throwIfFailed();
      await orAborted(live.over, signal);
    }
    await this.#untilNews(turnId, (row) => !row.open, signal);
  }

  async requestCancel(turnId: TurnId, by: CancelledBy, stream?: StreamHolder): Promise<boolean> {
    const live = this.#turns.current(turnId);
    if (stream?.degraded === true && !(await (await this.#memoryStore()).streams.isHeld(stream))) return false;
    const held = stream?.degraded === false ? this.#health.store.streams.held(stream) : undefined;
    try {
      const isAsked = live?.isKnown === false || (await this.#health.store.turns.requestCancel(turnId, by, held));
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
    if (live !== undefined) {
      const rows = () => this.#health.store.medium.rows;
      if (this.capabilities.isShared && live.isKnown)
        void bestEffort(hearCancel(rows, live, this.#place.clock, signal));
      return orAborted(live.cancelRequest, signal);
    }
    const row = await this.#health.store.turns.until(turnId, (found) => metaOf(found).cancel !== undefined, signal);
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
    // a server may still lose its end; what its client sealed stands in no memory from then on
    if (!this.capabilities.isShared || !live.opensTo(undefined)) this.#turns.letGo(turnId);
  }

  get(turnId: TurnId, looking: TurnLookup = {}): Promise<TurnRecord | undefined> {
    return this.#find(turnId, looking, (records) => records.get(turnId, looking));
  }

  getLabel(turnId: TurnId): Promise<TurnLabel | undefined> {
    return this.#find<TurnLabel>(turnId, {}, (records) => records.getLabel(turnId));
  }

  /** What the store has of a turn, or memory where it lacks that or fails. A turn whose home is gone is ended first. */
  async #find<Found extends TurnLabel>(
    turnId: TurnId,
    looking: TurnLookup,
    read: (records: Store["records"]) => Promise<Found | undefined>,
  ): Promise<Found | TurnRecord | undefined> {
    const live = this.#turns.current(turnId);
    if (live?.isDegraded === true) return live.shown(looking);
    try {
      const { records } = this.#health.store;
      const found = await read(records);
      if (found === undefined) return live?.hasEnded === false ? live.shown(looking) : undefined; // a server may lose what it had stored
      return (await this.#endIfLeft(found)) ? await read(records) : found;
    } catch (error) {
      if (!isDegraded(error) || live === undefined) throw error;
      return live.shown(looking);
    }
  }

  async list(filter: TurnFilter): Promise<readonly TurnLabel[]> {
    const stored = await this.#health.orDegraded(() => this.#health.store.records.list(filter));
    const here = this.#turns
      .all()
      .filter((live) => (stored === undefined || live.isDegraded) && !live.hasExpired(this.now()));
    if (here.length === 0) return stored ?? [];
    const ids = new Set(here.map(({ turnId }) => turnId));
    const shown = here.filter((live) => live.passes(filter)).flatMap((live) => live.shown({}) ?? []);
    const rest = (stored ?? []).filter(({ turnId }) => !ids.has(turnId));
    return [...shown.reverse(), ...rest].sort((a, b) => b.createdAtMs - a.createdAtMs).slice(0, filter.limit);
  }

  async listRunning(): Promise<readonly TurnLabel[]> {
    const stored = (await this.#health.orDegraded(() => this.#health.store.records.listRunning())) ?? [];
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
    const storing = stream.degraded || begun === undefined ? [] : await turns.storing(begun);
    const outcome = await streams
      .admit(stream, message, begun && { turnId: begun.record.turnId, storing })
      .catch((error: unknown) => {
        if (isDegraded(error) && begun !== undefined) this.#unclear.add(begun.record.turnId);
        throw error;
      });
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

  isEarlier(its: string, owner: string): boolean {
    return its !== owner && (!this.capabilities.isShared || homeOf(its) === homeOf(owner));
  }

  isUnclear(turnId: TurnId): boolean {
    return this.#unclear.has(turnId);
  }

  now(): number {
    return this.#health.opened?.medium.clock.now() ?? this.#place.clock.now();
  }

  untilRecovered(signal: AbortSignal): Promise<void> {
    return this.#health.untilRecovered(signal);
  }

  async sweep(): Promise<void> {
    await this.#health.orDegraded(async () => {
      await renewHome(this.#health.store.medium.rows, this.#home, this.#turns.all());
      if (this.capabilities.isShared) await this.#catchUp(this.#health.store.turns); // a server may lose what it had stored
      await this.#health.store.medium.sweep();
    });
    this.#turns.sweep();
    if (this.#memory !== undefined) await (await this.#memory).medium.sweep();
  }

  async close(): Promise<void> {
    const store = await this.#health.stop();
    for (const live of this.#turns.all()) live.lose("fenced"); // its readers ask the store, which says that it is closed
    await store?.medium.rows.close();
    if (this.#memory !== undefined) await (await this.#memory).medium.rows.close();
  }

  /**
   * Writes what the store lacks of the turns in memory, and removes what it has of turns that nobody will continue: those whose first event
   * it did not take, and those that memory began anew.
   */
  async #catchUp(turns: TurnLog): Promise<void> {
    for (const live of this.#turns.all()) {
      if (this.#unclear.has(live.turnId) && !live.isKnown) await turns.remove(live.turnId, 1);
      if (!live.isKnown) this.#unclear.delete(live.turnId);
      else if (live.isFailed) {
        await turns.remove(live.turnId, live.epoch);
        live.lose("removed"); // the next request with its key starts it anew
      } else await live.catchUp();
    }
  }

  /** Ends a turn whose home is gone, by name and fenced by its epoch; returns whether it has. */
  async #endIfLeft({ turnId, ended, owner }: Pick<TurnLabel, "turnId" | "ended" | "owner">): Promise<boolean> {
    const { shared } = this.#health.store.medium.rows;
    if (shared === undefined || ended || this.#turns.current(turnId) !== undefined) return false;
    if (await shared.isHomeThere(homeOf(owner))) return false;
    const claimed = await this.#claim(turnId, owner, true);
    await bestEffort(claimed?.readAll() ?? Promise.resolve()); // what cannot be read ends all the same
    await claimed?.writer.append([{ type: "failed", error: homeIsGone().toRecord() }], this.now());
    return claimed !== undefined;
  }

  async #untilNews(turnId: TurnId, holds: (row: Row) => boolean, signal: AbortSignal): Promise<Row> {
    const wait = (until: AbortSignal) => this.#health.store.turns.until(turnId, holds, until);
    if (!this.capabilities.isShared) return wait(signal);
    return untilNews(wait, () => this.getLabel(turnId), signal);
  }

  #memoryStore(): Promise<Store> {
    return (this.#memory ??= openMemory().then((opened) => storeOver(opened, this.#place)));
  }

  async #beginInMemory(turn: NewTurn, owner: string, clientKey: Secret | undefined) {
    const { turns, medium } = await this.#memoryStore();
    const begun = turns.begin(turn, owner, clientKey);
    return { record: { ...begun.record, degraded: true }, writer: this.#add({ ...begun, chain: undefined }, medium) };
  }

  /** A page of memory where memory has it, else of the store. `isTold`: who waits for a store that fails is told so. */
  async #page(
    turnId: TurnId,
    after: EventId,
    { limit, wait, clientKey, isTold = false }: ReadLimit & ReadRight & { readonly isTold?: boolean },
    inMemory: () => LiveTurn | undefined,
  ): Promise<Page> {
    const isNews = ({ events, ended }: Page) => events.length > 0 || ended;
    for (let live = inMemory(); live !== undefined; live = inMemory()) {
      const page = live.read(after, limit);
      if (page === undefined) break;
      if (wait === undefined || isNews(page)) return page;
      await live.changed(wait);
    }
    for (;;) {
      const page = await this.#health.store.turns.read(turnId, after, limit, { clientKey });
      if (wait === undefined || isNews(page)) return page;
      const until = isTold ? AbortSignal.any([wait, this.#health.failing]) : wait; // nobody goes on with it meanwhile
      await this.#untilNews(turnId, (row) => row.last > seqOf(after) || !row.open, until);
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
}
