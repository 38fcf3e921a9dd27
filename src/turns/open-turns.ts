import type { Backend, Backends, Prompt, RunOptions } from "../backends/backend.ts";
import { bestEffort, within } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import { MillraceError } from "../base/errors.ts";
import type { EventId, ModelUid, TurnId } from "../base/ids.ts";
import type { AttachedStream } from "../log/client-stream.ts";
import type { CancelledBy, TurnEvent } from "../log/event.ts";
import type { OutlinedEvent } from "../log/outline.ts";
import { readOutline, readTurn } from "../log/read-turn.ts";
import type { Created, LogStore, LogWriter, NewTurn, Opening, TurnRecord } from "../log/store.ts";
import { adoptOrphans } from "./adopt-orphans.ts";
import { type Attachment, neverSuperseded, type Sent, type StreamTurns, watchSuperseded } from "./attachment.ts";
import { Continuity } from "./continuity/continuity.ts";
import { FailedBodies, failedSeries } from "./failed-series.ts";
import { refuseConflict, type Twins, twinsOf } from "./join.ts";
import { archiveLeftBehind, type TrajectoryNotes } from "./left-behind.ts";
import { newTurnOf } from "./new-turn.ts";
import { noteEveryMs, noteWhileReading } from "./note-while-reading.ts";
import { Presence } from "./presence.ts";
import { Refusals } from "./refusals.ts";
import { type FailedSeries, repeatOf, toldAgain } from "./repeats.ts";
import { archiverOf, routeOf } from "./route.ts";
import { Runner } from "./runner.ts";
import { RunningTurns, type TurnProblem } from "./running-turns.ts";
import { begunElsewhere, type SameMomentOptions } from "./same-moment.ts";
import { type Entered, StartsInFlight } from "./starts-in-flight.ts";
import type { Step } from "./step.ts";
import { type SupersedeOptions, supersede } from "./supersede.ts";
import { type Planning, promptOf, stepsOf } from "./turn-plan.ts";
import type { JoinTurn, StartedTurn, StartTurn } from "./turns.ts";
import { upkeep } from "./upkeep.ts";

export interface TurnsOptions extends Planning {
  /** Stays open when the turns stop; whoever opened it closes it. */
  readonly store: LogStore;
  readonly backends: Backends;
  readonly clock: Clock;
  /** How long a turn goes on with nobody reading, where the request does not say; ms. */
  readonly graceMs: number;
  /** Whether a repeated request without a key may join its twin. */
  readonly implicitJoins: boolean;
  /** Names this process among those that share the store; never used twice. */
  readonly owner: string;
  /** Whether another owner's process is known to be gone, before its lease says so. */
  readonly ownerIsGone?: (owner: string) => boolean;
  readonly onProblem?: (problem: TurnProblem) => void;
  /** Told of each turn that is gone on with after its process was gone; the record says how far its log is. */
  readonly onAdopted?: (record: TurnRecord) => void;
  /** Told of each poll that the upstream answered. */
  readonly onPoll?: () => void;
  /** Keeps trajectories open for the next turn of their conversation, this long; every turn has a fresh one without it. */
  readonly continuity?: { readonly idleMs: number };
  /** When the used-up quota of a model resets, epoch ms, where the meter knows: for refusals that do not say it. */
  readonly resetOf?: (modelUid: ModelUid) => number | undefined;
  /** Where trajectories are noted; what is left behind there is archived. */
  readonly trajectoryNotes?: TrajectoryNotes;
}

/** How long a request waits for the first event of its turn, before the turn is flushed alone; ms. */
const startsSoonMs = 50;

/** Turns over a log store and a backend; adopts at once whatever an earlier process left running there. */
export function openTurns(options: TurnsOptions): StreamTurns {
  return new Engine(options);
}

/** How long a stop waits for the clean-up of what was begun for turns that were not stored; ms. */
const cleanUpMs = 10_000;

type SendWords = [stream: AttachedStream, ...Parameters<Attachment["send"]>];

class Engine implements StreamTurns {
  readonly #options: TurnsOptions;
  readonly #store: LogStore;
  readonly #clock: Clock;
  readonly #presence: Presence;
  readonly #running: RunningTurns;
  readonly #continuity: Continuity | undefined;
  readonly #refusals: Refusals;
  readonly #failedBodies: FailedBodies;
  readonly #inFlight: StartsInFlight;
  /** Turns that are stored, but not flushed yet. */
  readonly #unflushed = new Map<TurnId, Promise<void>>();
  /** What was begun upstream for turns that were not stored, until it is cleaned up. */
  readonly #leftOver = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #sameMoment: SameMomentOptions;
  readonly #superseding: SupersedeOptions;
  readonly #upkeep: Promise<void>;
  readonly #cleaning: Promise<void>;

  constructor(options: TurnsOptions) {
    const { store, clock, owner, onProblem = () => {}, onAdopted = () => {} } = options;
    this.#refusals = new Refusals(clock, options.resetOf);
    this.#failedBodies = new FailedBodies(() => clock.now());
    this.#inFlight = new StartsInFlight(clock);
    this.#options = options;
    this.#store = store;
    this.#clock = clock;
    this.#presence = new Presence(clock);
    const { continuity, trajectoryNotes: notes, ownerIsGone = () => false } = options;
    const isAttended = (turnId: TurnId) => this.#presence.isAttended(turnId);
    this.#sameMoment = { ...options, ownerIsGone, isAttended, stopping: this.#stopping.signal };
    this.#superseding = {
      store,
      isAttended: (record) => this.#isAttended(record),
      cancel: (turnId) => this.cancel(turnId, "superseded"),
    };
    const archive = archiverOf(options.backends);
    this.#continuity = continuity && new Continuity({ clock, ...continuity, archive, notes });
    this.#running = new RunningTurns({ store, clock, presence: this.#presence, onProblem, owner });
    const adoption = {
      ...options,
      running: this.#running,
      runOptions: (turnId: TurnId) => this.#runOptions(turnId),
      onProblem,
      again: new Set<TurnId>(),
      onAdopted,
    };
    const failed = (error: unknown) => onProblem({ event: "turn_upkeep_failed", turnId: undefined, error });
    this.#upkeep = upkeep(
      { store, clock, owner, adoptOrphans: () => adoptOrphans(adoption, this.#stopping.signal), onProblem: failed },
      this.#stopping.signal,
    );
    const leftBehind = notes && { notes, store, clock, owner, ownerIsGone, archive };
    this.#cleaning = leftBehind ? archiveLeftBehind(leftBehind, this.#stopping.signal) : Promise.resolve();
  }

  async start(asked: StartTurn, signal: AbortSignal): Promise<StartedTurn> {
    signal.throwIfAborted();
    const { earlier, leave } = this.#inFlight.enter(asked, signal);
    try {
      const { twin, same } = await this.#twinOnceLeft(asked, earlier, signal);
      if (twin !== undefined) return await this.#joined(twin, asked, signal);
      this.#refuseRepeat(await failedSeries(this.#store, same, this.#clock.now()));
      const { prompt, backend } = await this.#readied(asked, signal);
      const turn = newTurnOf(asked, this.#clock.now(), this.#options.graceMs);
      const stored = Promise.withResolvers<LogWriter>();
      const { runner, continuity } = this.#runnerOf(turn, backend, prompt, stored.promise);
      const creating = this.#store.create(turn, this.#options.owner, undefined, { flush: false }); // `started` is flushed
      const decided = creating.then(async (created) => ({
        created,
        elsewhere: await begunElsewhere(created, this.#sameMoment),
      }));
      void decided
        .then(({ created, elsewhere }) =>
          writerOf(elsewhere === undefined ? created : { ...created, writer: undefined }),
        )
        .then(stored.resolve, stored.reject);
      const begun = runner.begin(); // a conversation is started meanwhile; no prompt is sent before `started` is stored
      this.#leftOver.add(begun);
      void begun.then(() => this.#leftOver.delete(begun));
      const {
        created: { record, writer },
        elsewhere,
      } = await decided;
      if (writer === undefined) return await this.#joined(record, asked, signal); // another request with this key was faster
      if (elsewhere !== undefined) {
        await this.#store.remove(record.turnId);
        return await this.#joined(elsewhere, asked, signal);
      }
      this.#leftOver.delete(begun);
      const started = this.#begin(record, runner, continuity, signal);
      await Promise.all([this.#acknowledgeable(record, runner), bestEffort(supersede(record, this.#superseding))]); // a turn that nobody reads is ended by its grace
      return started;
    } finally {
      leave();
    }
  }

  async join(asked: JoinTurn, signal: AbortSignal): Promise<StartedTurn | undefined> {
    signal.throwIfAborted();
    const { twin } = await this.#twinsOf(asked);
    return twin === undefined ? undefined : this.#joined(twin, asked, signal);
  }

  async attach(...attach: Parameters<StreamTurns["attach"]>): Promise<Attachment> {
    const [name, intent, ticket, number, graceMs] = attach;
    const stream = await this.#store.attachStream(name, intent, ticket, number);
    const { superseded, stop } = intent === "observe" ? neverSuperseded : watchSuperseded(this.#store, stream);
    const { epoch, accepted, expiresAtMs, nextTicket, degraded } = stream;
    const turnIds = accepted.flatMap(({ turnId }) => turnId ?? []);
    if (intent !== "observe") {
      const last = turnIds.at(-1);
      // the expiry slides now, so that what the attach is told of it is true; one that has expired is told so when it is read
      if (last !== undefined) await bestEffort(this.#noteAttached(last, graceMs));
      await this.#store.keepTogether(turnIds);
    }
    return {
      epoch,
      accepted,
      expiresAtMs,
      serverNowMs: this.#clock.now(),
      nextTicket,
      degraded,
      superseded,
      send: async (message, start, signal) => {
        const sent = await this.#send(stream, message, start, signal);
        if (sent.turn !== undefined) {
          turnIds.push(sent.turn.turnId);
          await bestEffort(this.#store.keepTogether(turnIds)); // the next attach does it too
        }
        return sent;
      },
      cancel: (turnId, by) => this.#cancel(turnId, by, stream),
      read: (turnId, after, signal) => this.#readAsClient(turnId, after, signal, name),
      get: (turnId) => this.#store.get(turnId, name),
      follow: (turnId, after, signal) => this.#readUntilStopped(turnId, after, signal, name),
      close: stop,
    };
  }

  read(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<TurnEvent, void> {
    return this.#readAsClient(turnId, after, signal);
  }

  follow(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<TurnEvent, void> {
    return this.#readUntilStopped(turnId, after, signal);
  }

  outline(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<OutlinedEvent, void> {
    return this.#untilStopped(signal, (reading) => readOutline(this.#store, turnId, after, reading));
  }

  untilEnded(turnId: TurnId, signal: AbortSignal): Promise<void> {
    return this.#store.untilEnded(turnId, signal);
  }

  lastAliveAtMs(turnId: TurnId): number | undefined {
    return this.#running.lastAliveAtMs(turnId);
  }

  async noteAttached(record: TurnRecord, graceMs: number | undefined): Promise<TurnRecord> {
    try {
      await this.#noteAttached(record.turnId, graceMs);
      return (await this.#store.get(record.turnId)) ?? record;
    } catch {
      return record; // reading it will say what is wrong
    }
  }

  noteDelivered(turnId: TurnId): Promise<void> {
    return this.#store.noteDelivered(turnId);
  }

  async cancel(turnId: TurnId, by: CancelledBy): Promise<void> {
    await this.#cancel(turnId, by);
  }

  get(turnId: TurnId, caller?: string): Promise<TurnRecord | undefined> {
    return this.#store.get(turnId, { caller });
  }

  async remove(turnId: TurnId): Promise<void> {
    await this.#running.get(turnId)?.cancel("client");
    await this.#store.remove(turnId);
  }

  list(filter: Parameters<StreamTurns["list"]>[0]): Promise<readonly TurnRecord[]> {
    return this.#store.list(filter);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#upkeep, this.#cleaning]);
    const outlives = this.#store.capabilities.survivesRestart;
    await this.#running.stop(outlives ? "detach" : "cancel");
    await within(Promise.all(this.#leftOver), cleanUpMs, this.#clock);
    await this.#continuity?.close();
    await this.#presence.close();
    if (outlives) await this.#store.renewOwner(this.#options.owner, 0);
  }

  /** A turn that runs here goes on as long as is asked for, whether that can be stored or not. */
  async #noteAttached(turnId: TurnId, graceMs: number | undefined): Promise<void> {
    if (graceMs !== undefined) this.#running.get(turnId)?.lengthen(graceMs);
    await this.#store.noteAttached(turnId, this.#clock.now(), graceMs);
  }

  async #cancel(turnId: TurnId, by: CancelledBy, stream?: AttachedStream): Promise<boolean> {
    if (!(await this.#store.requestCancel(turnId, by, stream))) return false;
    await this.#running.get(turnId)?.cancel(by);
    return true;
  }

  async #send(...[stream, message, start, signal]: SendWords): Promise<Sent> {
    if (start === undefined) return { outcome: (await this.#store.admit(stream, message)).outcome, turn: undefined };
    if (start.body !== undefined) this.#refuseRepeat(this.#failedBodies.seriesOf(start.body), "stream");
    const { prompt, backend } = await this.#readied(start, signal);
    const turn = newTurnOf(start, this.#clock.now(), this.#options.graceMs);
    const admitted = await this.#store.admit(stream, message, { turn, owner: this.#options.owner });
    if (admitted.outcome !== "admitted" || admitted.turn === undefined)
      return { outcome: admitted.outcome, turn: undefined };
    const { record, writer } = admitted.turn;
    const watched = start.body === undefined ? [] : [this.#failedBodies.watch(start.body)];
    const { runner, continuity } = this.#runnerOf(record, backend, prompt, writer, watched);
    const begun = this.#begin(record, runner, continuity, signal);
    await bestEffort(supersede(record, this.#superseding)); // a turn that nobody reads is ended by its grace
    return { outcome: "admitted", turn: begun };
  }

  /** Whatever may fail before anything is stored. */
  async #readied(
    asked: StartTurn,
    signal: AbortSignal,
  ): Promise<{ readonly prompt: Prompt; readonly backend: Backend }> {
    const prompt = promptOf(this.#options, asked);
    this.#refusals.check(asked.modelUid);
    const backend = await this.#options.backends.choose(prompt, signal);
    return { prompt, backend };
  }

  /** Throws the last failure of this body again where no prompt may follow it yet. */
  #refuseRepeat(series: FailedSeries | undefined, asked: "request" | "stream" = "request"): void {
    if (series === undefined) return;
    const nowMs = this.#clock.now();
    const repeat = repeatOf(series, nowMs);
    if (repeat.type === "tell") throw toldAgain(series, repeat.untilMs, nowMs, asked);
  }

  #runnerOf(
    turn: NewTurn,
    backend: Backend,
    prompt: Prompt,
    writer: LogWriter | Promise<LogWriter>,
    watched: readonly Step[] = [],
  ): { readonly runner: Runner; readonly continuity: Promise<string> } {
    const asked = { backend, prompt, run: this.#runOptions(turn.turnId) };
    const { exchange, continuity } = routeOf(this.#options, this.#continuity, turn, asked);
    const steps = [this.#refusals.watch(turn.modelUid as ModelUid), ...watched, ...stepsOf(this.#options, turn)];
    const open = async () => exchange;
    return { runner: new Runner({ writer, state: "created", open, steps, clock: this.#clock }), continuity };
  }

  /** From here the turn is stored, and goes on even if the request fails. */
  #begin(record: TurnRecord, runner: Runner, continuity: Promise<string>, signal: AbortSignal): StartedTurn {
    const { turnId, graceMs, degraded, expiresAtMs } = record;
    this.#presence.expect(turnId, signal);
    this.#running.add(turnId, runner, graceMs);
    return { turnId, joined: "no", continuity, degraded, expiresAtMs };
  }

  /**
   * Resolves when a client may be told of the turn: it is durable. Its first event makes it so, without a flush of its own; where the
   * server takes long to start a conversation, the turn is flushed alone.
   */
  #acknowledgeable({ turnId, graceMs }: TurnRecord, runner: Runner): Promise<void> {
    const durable = (async () => {
      const isStored = await within(
        runner.stored.then(() => true),
        startsSoonMs,
        this.#clock,
      );
      if (isStored === undefined) await bestEffort(this.#store.noteAttached(turnId, this.#clock.now(), graceMs));
    })();
    this.#unflushed.set(turnId, durable);
    return durable.finally(() => this.#unflushed.delete(turnId));
  }

  /**
   * The turn that the request joins. A client that repeats its request in the instant in which its connection broke may be
   * worked on before that connection, even before the first request is stored: where only that, or a reader here, is in the way,
   * it gets a moment.
   */
  async #twinOnceLeft(asked: JoinTurn, earlier: Entered["earlier"], signal: AbortSignal): Promise<Twins> {
    if (this.#options.implicitJoins && earlier.length > 0) await this.#inFlight.untilStored(earlier, asked, signal);
    const twins = await this.#twinsOf(asked);
    if (twins.twin !== undefined || twins.attended.length === 0) return twins;
    await this.#presence.untilOneIsLeft(twins.attended, signal);
    return this.#twinsOf(asked);
  }

  #twinsOf(asked: JoinTurn): Promise<Twins> {
    const isAttended = (record: TurnRecord) => this.#isAttended(record);
    const isReadHere = ({ turnId, owner }: TurnRecord) =>
      owner === this.#options.owner && this.#presence.isAttended(turnId);
    const { implicitJoins } = this.#options;
    return twinsOf(asked, { store: this.#store, implicitJoins, isAttended, isReadHere });
  }

  /** Readers here are known; one in another process says so every few seconds. */
  #isAttended(record: TurnRecord): boolean {
    if (this.#presence.isAttended(record.turnId)) return true;
    if (record.owner === this.#options.owner || this.#options.ownerIsGone?.(record.owner) === true) return false;
    return record.attachedAtMs + noteEveryMs * 2 > this.#clock.now();
  }

  async #joined(twin: TurnRecord, asked: JoinTurn, signal: AbortSignal): Promise<StartedTurn> {
    refuseConflict(asked, twin);
    await this.#unflushed.get(twin.turnId);
    this.#presence.expect(twin.turnId, signal);
    const record = await this.noteAttached(twin, asked.graceMs);
    return {
      turnId: record.turnId,
      joined: asked.idempotencyKey === undefined ? "implicit" : "key",
      continuity: Promise.resolve("joined"),
      degraded: record.degraded,
      expiresAtMs: record.expiresAtMs,
    };
  }

  #runOptions(turnId: TurnId): RunOptions {
    const { onPoll = () => {} } = this.#options;
    const onAlive = () => {
      this.#running.noteAlive(turnId);
      onPoll();
    };
    return { keep: false, onAlive };
  }

  async *#readAsClient(
    turnId: TurnId,
    after: EventId,
    signal: AbortSignal,
    opening: Opening = {},
  ): AsyncGenerator<TurnEvent, void> {
    const leave = this.#presence.enter(turnId);
    const reading = new AbortController();
    let noting: Promise<void> | undefined;
    try {
      await this.#store.noteAttached(turnId, this.#clock.now());
      if (this.#running.get(turnId) === undefined)
        noting = noteWhileReading(this.#store, turnId, this.#clock, reading.signal);
      yield* this.#readUntilStopped(turnId, after, signal, opening);
      await this.#store.noteDelivered(turnId);
    } finally {
      leave();
      reading.abort();
      await noting;
      if (this.#running.get(turnId) === undefined) this.#presence.forget(turnId);
    }
  }

  #readUntilStopped(
    turnId: TurnId,
    after: EventId,
    signal: AbortSignal,
    { clientKey }: Opening = {},
  ): AsyncGenerator<TurnEvent, void> {
    return this.#untilStopped(signal, (reading) => readTurn(this.#store, turnId, after, reading, { clientKey }));
  }

  async *#untilStopped<E>(
    signal: AbortSignal,
    read: (signal: AbortSignal) => AsyncGenerator<E, void>,
  ): AsyncGenerator<E, void> {
    const handedOver = this.#store.capabilities.survivesRestart ? this.#stopping.signal : undefined;
    try {
      yield* read(AbortSignal.any([signal, ...(handedOver ? [handedOver] : [])]));
    } catch (error) {
      if (signal.aborted || handedOver?.aborted !== true) throw error;
      throw new MillraceError("unavailable", "The gateway is stopping; the turn goes on when it runs again.", {
        hint: "Try again in a moment: send the same request, or read the turn from the last event that you have.",
        retryAfterMs: 1_000,
      });
    }
  }
}

/** Throws where another turn holds the key: then this one is not to be run. */
function writerOf({ writer }: Created): LogWriter {
  if (writer === undefined) throw new MillraceError("cancelled", "Another request started this turn.");
  return writer;
}
