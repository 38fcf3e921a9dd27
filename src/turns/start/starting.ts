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
import { type FailedSeries, forLateRepeats } from "./repeats.ts";
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

/** Starts the turn of a request, or joins it to the turn that it repeats. */
export class Starting {
  readonly #options: StartingOptions;
  readonly #store: TurnWriting & TurnReading;
  readonly #clock: Clock;
  readonly #inFlight: StartsInFlight;
  /** Turns that are stored, but not flushed yet. */
  readonly #unflushed = new Map<TurnId, Promise<void>>();

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
      const series = await failedSeries(this.#store, same, nowMs);
      const failed = series !== undefined && asked.repeatsLate === true ? forLateRepeats(series) : series;
      refuseRepeat(failed, this.#clock.now());
      const launched = (prepared: PreparedTurn) => this.#launched(prepared, asked, failed, signal);
      return await this.#options.launcher.starting(asked, signal, launched);
    } finally {
      leave();
    }
  }

  async join(asked: JoinTurn, signal: AbortSignal): Promise<StartedTurn | undefined> {
    signal.throwIfAborted();
    const { twin } = await this.#twinsOf(asked);
    return twin === undefined ? undefined : this.#joined(twin, asked, signal);
  }

  /** Cancels the turns that the client left running in this session. It never fails: the grace time ends a turn without a reader. */
  async supersedeOthers(record: TurnRecord): Promise<void> {
    const { reading, running } = this.#options;
    const superseding = {
      store: this.#store,
      hasReader: (other: TurnRecord) => reading.hasReader(other),
      cancel: async (turnId: TurnId) => void (await running.cancel(turnId, "superseded")),
    };
    await bestEffort(supersede(record, superseding));
  }

  /** A new turn, unless another request stores the same one first. */
  async #launched(
    prepared: PreparedTurn,
    asked: StartTurn,
    failed: FailedSeries | undefined,
    signal: AbortSignal,
  ): Promise<StartedTurn> {
    const { launcher } = this.#options;
    const watches = failed === undefined ? [] : [watchRepeat(failed, () => this.#clock.now())];
    const decided = this.#stored(prepared.turn);
    const launch = launcher.launch(prepared, decided.then(writerOf), watches);
    const { record, writer, elsewhere } = await decided;
    if (writer === undefined) return this.#joined(record, asked, signal); // another request with this key was faster
    if (elsewhere !== undefined) {
      await this.#store.remove(record.turnId);
      return this.#joined(elsewhere, asked, signal);
    }
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
   * Resolves when the turn is durable, so that a client may learn its id. Storing the first event also flushes the turn. If the
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
   * The turn that the request joins. When a connection breaks, the client's repeated request may be handled before the broken
   * connection is noticed, or even before the first request is stored. So if only the first request or its reader prevents the
   * join, the repeat waits a moment.
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
  /** The same request, which another gateway took at the same moment and now runs. */
  readonly elsewhere: TurnRecord | undefined;
}

/** Throws where another turn is run in place of this one. */
function writerOf({ writer, elsewhere }: StoredTurn): LogWriter {
  if (writer === undefined || elsewhere !== undefined)
    throw new MillraceError("cancelled", "Another request started this turn.");
  return writer;
}
