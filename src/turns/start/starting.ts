import { bestEffort, within } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import type { CancelledBy } from "../../log/event.ts";
import type { Created, LogWriter, NewTurn, TurnReading, TurnRecord, TurnWriting } from "../../log/store.ts";
import type { Readers } from "../read/readers.ts";
import type { Reading } from "../read/reading.ts";
import type { Runner } from "../run/runner.ts";
import type { JoinTurn, StartedTurn, StartTurn } from "../turns.ts";
import { failedSeries, watchRepeat } from "./failed-series.ts";
import { refuseConflict, type Twins, twinsOf } from "./join.ts";
import type { Launcher, PreparedTurn } from "./launcher.ts";
import { refuseRepeat } from "./refuse-repeat.ts";
import type { FailedSeries } from "./repeats.ts";
import { begunElsewhere } from "./same-moment.ts";
import { type Entered, StartsInFlight } from "./starts-in-flight.ts";
import { supersede } from "./supersede.ts";

export interface StartingOptions {
  readonly store: TurnWriting & TurnReading;
  readonly clock: Clock;
  readonly owner: string;
  readonly ownerIsGone?: (owner: string) => boolean;
  readonly implicitJoins: boolean;
  readonly readers: Readers;
  readonly reading: Pick<Reading, "hasReader" | "noteReaderOf">;
  readonly launcher: Launcher;
  readonly running: {
    readonly stopping: AbortSignal;
    cancel(turnId: TurnId, by: CancelledBy): Promise<unknown>;
  };
}

/** How long a request waits for the first event of its turn, before the turn is flushed alone; ms. */
const startsSoonMs = 250;
/** How long a stop waits for the clean-up of turns that were begun upstream but not stored; ms. */
const cleanUpMs = 10_000;

/** Starts the turn of a request, or joins it to the turn that it repeats. */
export class Starting {
  readonly #options: StartingOptions;
  readonly #store: TurnWriting & TurnReading;
  readonly #clock: Clock;
  readonly #inFlight: StartsInFlight;
  /** Turns that are stored, but not flushed yet. */
  readonly #unflushed = new Map<TurnId, Promise<void>>();
  /** Runs that have begun upstream and whose turn is not stored: until it is, or until they have cleaned up. */
  readonly #unstored = new Set<Promise<void>>();

  constructor(options: StartingOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#inFlight = new StartsInFlight(options.clock);
  }

  async start(asked: StartTurn, signal: AbortSignal): Promise<StartedTurn> {
    signal.throwIfAborted();
    const { earlier, leave } = this.#inFlight.enter(asked, signal);
    try {
      const { twin, same } = await this.#twinOnceUnread(asked, earlier, signal);
      if (twin !== undefined) return await this.#joined(twin, asked, signal);
      const nowMs = this.#clock.now();
      const failed = await failedSeries(this.#store, same, nowMs);
      refuseRepeat(failed, this.#clock.now());
      return await this.#begun(asked, failed, signal);
    } finally {
      leave();
    }
  }

  async join(asked: JoinTurn, signal: AbortSignal): Promise<StartedTurn | undefined> {
    signal.throwIfAborted();
    const { twin } = await this.#twinsOf(asked);
    return twin === undefined ? undefined : this.#joined(twin, asked, signal);
  }

  /** Cancels what the client left running in this session. It never fails: a turn without a reader is ended by its grace time. */
  async supersedeOthers(record: TurnRecord): Promise<void> {
    const { reading, running } = this.#options;
    const superseding = {
      store: this.#store,
      hasReader: (other: TurnRecord) => reading.hasReader(other),
      cancel: async (turnId: TurnId) => void (await running.cancel(turnId, "superseded")),
    };
    await bestEffort(supersede(record, superseding));
  }

  /** Waits until what was begun upstream for turns that were not stored is cleaned up, for ten seconds at most. */
  async close(): Promise<void> {
    await within(Promise.all(this.#unstored), cleanUpMs, this.#clock);
  }

  /** A new turn, unless another request stores the same one first. */
  async #begun(asked: StartTurn, failed: FailedSeries | undefined, signal: AbortSignal): Promise<StartedTurn> {
    const { launcher } = this.#options;
    const prepared = await launcher.prepare(asked, signal);
    let isBegun = false;
    try {
      const started = await this.#launched(prepared, asked, failed, signal);
      isBegun = started.turnId === prepared.turn.turnId;
      return started;
    } finally {
      if (!isBegun) prepared.withdraw();
    }
  }

  async #launched(
    prepared: PreparedTurn,
    asked: StartTurn,
    failed: FailedSeries | undefined,
    signal: AbortSignal,
  ): Promise<StartedTurn> {
    const { launcher } = this.#options;
    const stored = Promise.withResolvers<LogWriter>();
    const watches = failed === undefined ? [] : [watchRepeat(failed, () => this.#clock.now())];
    const launch = launcher.launch(prepared, stored.promise, watches);
    const decided = this.#stored(prepared.turn);
    void decided.then(writerOf).then(stored.resolve, stored.reject);
    const begun = launch.runner.begin(); // a conversation is started meanwhile; no prompt is sent before `started` is stored
    this.#unstored.add(begun);
    void begun.then(() => this.#unstored.delete(begun));
    const { record, writer, elsewhere } = await decided;
    if (writer === undefined) return this.#joined(record, asked, signal); // another request with this key was faster
    if (elsewhere !== undefined) {
      await this.#store.remove(record.turnId);
      return this.#joined(elsewhere, asked, signal);
    }
    this.#unstored.delete(begun);
    const started = launcher.begin(record, launch, signal);
    await Promise.all([this.#durable(record, launch.runner), this.supersedeOthers(record)]);
    return started;
  }

  /** Stores the turn, and looks for the same request at another gateway. Its first event is flushed, not its creation. */
  async #stored(turn: NewTurn): Promise<StoredTurn> {
    const { owner, ownerIsGone = () => false, implicitJoins, readers, running } = this.#options;
    const created = await this.#store.create(turn, owner, { flush: false });
    const elsewhere = await begunElsewhere(created, {
      store: this.#store,
      clock: this.#clock,
      owner,
      ownerIsGone,
      implicitJoins,
      hasReaderHere: (turnId) => readers.has(turnId),
      stopping: running.stopping,
    });
    return { ...created, elsewhere };
  }

  /**
   * Resolves when a client may be told of the turn: it is durable. Its first event makes it so, without a flush of its own; where the
   * server takes long to start a conversation, the turn is flushed alone.
   */
  #durable({ turnId, graceMs }: TurnRecord, runner: Runner): Promise<void> {
    const durable = (async () => {
      const isStored = await within(
        runner.stored.then(() => true),
        startsSoonMs,
        this.#clock,
      );
      if (isStored === undefined) await bestEffort(this.#store.noteReader(turnId, this.#clock.now(), graceMs));
    })();
    this.#unflushed.set(turnId, durable);
    return durable.finally(() => this.#unflushed.delete(turnId));
  }

  async #joined(twin: TurnRecord, asked: JoinTurn, signal: AbortSignal): Promise<StartedTurn> {
    const { readers, reading } = this.#options;
    refuseConflict(asked, twin);
    await this.#unflushed.get(twin.turnId);
    readers.expect(twin.turnId, signal);
    const record = await reading.noteReaderOf(twin, asked.graceMs);
    return {
      turnId: record.turnId,
      record,
      joined: asked.idempotencyKey === undefined ? "implicit" : "key",
      continuity: () => "joined",
      degraded: record.degraded,
      expiresAtMs: record.expiresAtMs,
    };
  }

  /**
   * The turn that the request joins. A client that repeats its request in the instant in which its connection broke may be
   * worked on before that connection, even before the first request is stored: where only that, or a reader here, is in the way,
   * it gets a moment.
   */
  async #twinOnceUnread(asked: JoinTurn, earlier: Entered["earlier"], signal: AbortSignal): Promise<Twins> {
    const { implicitJoins, readers } = this.#options;
    if (implicitJoins && earlier.length > 0) await this.#inFlight.untilStored(earlier, asked, signal);
    const twins = await this.#twinsOf(asked);
    if (twins.twin !== undefined || twins.beingRead.length === 0) return twins;
    await readers.untilOneIsUnread(twins.beingRead, signal);
    return this.#twinsOf(asked);
  }

  #twinsOf(asked: JoinTurn): Promise<Twins> {
    const { implicitJoins, owner, readers, reading } = this.#options;
    const hasReader = (record: TurnRecord) => reading.hasReader(record);
    const hasReaderHere = (record: TurnRecord) => record.owner === owner && readers.has(record.turnId);
    return twinsOf(asked, { store: this.#store, implicitJoins, hasReader, hasReaderHere });
  }
}

interface StoredTurn extends Created {
  /** The same request, which another gateway took at the same moment and goes on with. */
  readonly elsewhere: TurnRecord | undefined;
}

/** Throws where another turn is run in place of this one. */
function writerOf({ writer, elsewhere }: StoredTurn): LogWriter {
  if (writer === undefined || elsewhere !== undefined)
    throw new MillraceError("cancelled", "Another request started this turn.");
  return writer;
}
