import type { Backend, Prompt } from "../backends/backend.ts";
import { bestEffort, within } from "../base/async.ts";
import type { EventSink } from "../base/emitter.ts";
import { MillraceError } from "../base/errors.ts";
import { newTurnId, type TurnId } from "../base/ids.ts";
import { ownTurn } from "../base/node/unhurried.ts";
import type { TerminalEvent } from "../log/event.ts";
import type { LogWriter, NewTurn, TurnRecord } from "../log/store.ts";
import type { BackOff } from "./back-off.ts";
import type { Asker, Continuity } from "./continuity/continuity.ts";
import type { EventStage } from "./event-stage.ts";
import { findTwin } from "./find-twin.ts";
import type { TurnLifecycle } from "./lifecycle.ts";
import type { TurnsOptions } from "./options.ts";
import { newTurnExchange, promptOf, stagesOf } from "./plan.ts";
import type { TurnQueue } from "./queue.ts";
import type { Readers } from "./readers.ts";
import type { Refusals } from "./refusals.ts";
import { Runner } from "./run.ts";
import { cleanUpMs, type RunningTurns } from "./running-turns.ts";
import type { AskedTurn, RequestIdentity, StartedTurn } from "./turns.ts";
import { goesOnPast, refuseConflict, StartsInFlight } from "./twins.ts";

/** What starts turns, and takes them up. */
export interface EngineParts extends Omit<TurnsOptions, "events" | "continuity"> {
  readonly events: EventSink<TurnLifecycle>;
  readonly readers: Readers;
  readonly queue: TurnQueue;
  readonly continuity: Continuity | undefined;
  /** Looks for a conversation that an earlier process left with a prompt that waits. */
  readonly recall: ((asker: Asker) => Promise<void>) | undefined;
  readonly running: RunningTurns;
}

/** The way in which a turn gets into the log. */
export interface TurnStorage {
  /** Resolves with the turn and the right to write it; with undefined if the turn is not stored after all. */
  readonly store: (turn: NewTurn) => Promise<{ readonly record: TurnRecord; readonly writer: LogWriter } | undefined>;
  /** Whether a turn that `store` stored survives a power cut before its first event. */
  readonly flushes: boolean;
  /** Makes a stage that sees the events of the turn; called once the turn has a backend. */
  readonly watch?: (() => EventStage) | undefined;
}

/** How many running turns of a session are looked at for those that a request goes on past. */
const mostOfSession = 64;
/** How long a request waits for the first event of its turn, before the turn is flushed alone; ms. */
const startsSoonMs = 250;

/** From so many characters on, laying out a prompt has taken some ms. */
const largePrompt = 256 * 1024;

/** Starts the turn of a request or of a stream's message, or joins a request to the turn that it repeats. */
export class TurnStarter {
  readonly #parts;
  readonly #inFlight: StartsInFlight;
  /** Turns that are stored, but not flushed yet. */
  readonly #unflushed = new Map<TurnId, Promise<void>>();
  /** Runs that have begun upstream and whose turn is not stored: until it is, or until they have cleaned up. */
  readonly #unstored = new Set<Promise<void>>();

  constructor(parts: EngineParts & { readonly refusals: Refusals; readonly backOff: BackOff }) {
    this.#parts = parts;
    this.#inFlight = new StartsInFlight(parts.clock);
  }

  /**
   * The turn that is there for a request, by its key or as its twin; else a new one. Resolves once the turn is stored. If only a reader
   * keeps the request from joining its twin, that reader gets a quarter of a second to leave first. `resolve`, for a request whose
   * model is not known yet, is called only if no turn is there: an answer that was given is given again when the model's IDE is gone.
   * Throws `idempotency_conflict`, `expired`, and the errors of resolving the model and of finding a backend.
   */
  async start(
    asked: AskedTurn | (RequestIdentity & { readonly resolve: () => Promise<AskedTurn> }),
    signal: AbortSignal,
  ): Promise<StartedTurn> {
    signal.throwIfAborted();
    const { earlier, leave } = this.#inFlight.enter(asked, signal);
    try {
      // the repeated request of a broken connection may come before the first one is stored
      if (earlier.length > 0 && this.#parts.implicitJoins) await this.#inFlight.untilStored(earlier, asked, signal);
      const held = await findTwin(this.#parts, asked, signal);
      if (held !== undefined) return await this.#join(held, asked, signal);
      return await this.#startNew("resolve" in asked ? await asked.resolve() : asked, signal);
    } finally {
      leave();
    }
  }

  async #startNew(asked: AskedTurn, signal: AbortSignal): Promise<StartedTurn> {
    const { store, owner, backOff } = this.#parts;
    const body = `${asked.caller} ${asked.fingerprint}`;
    const isKeyed = asked.idempotencyKey !== undefined;
    const failed = isKeyed ? undefined : backOff.check(body, asked.repeatsLate === true ? "late_request" : "request");
    let held: TurnRecord | undefined;
    const create = async (turn: NewTurn) => {
      const { record, writer } = await store.create(turn, owner, { flush: false });
      if (writer !== undefined) return { record, writer };
      held = record;
      return undefined;
    };
    const storage = { store: create, flushes: false, watch: () => backOff.watch(body, failed) };
    const started = await this.launch(asked, storage, signal);
    if (started !== undefined) return started;
    if (held === undefined) throw new MillraceError("internal", "A turn was neither stored nor there.");
    return this.#join(held, asked, signal); // another request with this key was faster
  }

  /**
   * Runs every step that may fail before the turn is stored, then stores the turn while its conversation begins upstream. No prompt is
   * sent before `started` is stored, which waits for the turn. Undefined, and the conversation is cancelled, if the turn is not stored.
   * Throws the errors of finding a backend, repeated refusals, and the reason if the turn is not admitted.
   */
  async launch(asked: AskedTurn, storage: TurnStorage, signal: AbortSignal): Promise<StartedTurn | undefined> {
    const { refusals, backends, clock, graceMs, admission, readers, running, events } = this.#parts;
    const turn = newTurnOf(asked, clock.now(), graceMs);
    const prompt = promptOf(this.#parts, turn);
    if (prompt.text.length + prompt.instructions.length > largePrompt) await ownTurn(); // the store takes its own time
    await refusals.check(asked.modelUid);
    const backend = await backends.choose(prompt, signal);
    const { recall } = this.#parts;
    if (recall !== undefined) await bestEffort(recall(turn)); // else it is laid out anew
    const withdraw = await admission?.admit(turn);
    let stored: Awaited<ReturnType<TurnStorage["store"]>>;
    try {
      const storing = storage.store(turn);
      const { runner, continuity } = this.#runner(turn, { backend, prompt }, storing.then(writerOf), storage.watch);
      const run = runner.begin();
      this.#unstored.add(run);
      void run.then(() => this.#unstored.delete(run));
      stored = await storing;
      if (stored === undefined) return undefined;
      // from here the turn is stored, and continues even if the request fails
      this.#unstored.delete(run);
      const { record } = stored;
      const { turnId } = record;
      readers.expect(turnId, signal);
      running.add(record, runner);
      events.emit("turn_started", { turnId });
      await Promise.all([storage.flushes ? undefined : this.#durable(record, runner), this.#endPassed(record)]);
      return { turnId, record, joined: "no", continuity };
    } finally {
      if (stored === undefined) withdraw?.();
    }
  }

  /** Waits until the conversations of turns that were not stored are cleaned up, for ten seconds at most. */
  async close(): Promise<void> {
    await within(Promise.all(this.#unstored), cleanUpMs, this.#parts.clock);
  }

  #runner(
    turn: NewTurn,
    { backend, prompt }: { readonly backend: Backend; readonly prompt: Prompt },
    writer: Promise<LogWriter>,
    watch: TurnStorage["watch"],
  ): { readonly runner: Runner; readonly continuity: StartedTurn["continuity"] } {
    const { continuity: conversations, refusals, running, queue, clock } = this.#parts;
    const modelUid = turn.modelUid as AskedTurn["modelUid"]; // it was one in the request
    // agents report no limits
    const complete = backend.kind === "acp" ? undefined : (end: TerminalEvent) => refusals.withLimit(end, modelUid);
    const input = { backend, prompt, run: running.optionsOf(turn.turnId), complete };
    const { exchange, continuity } = newTurnExchange(this.#parts, conversations, turn, input);
    const watches = [refusals.watch(modelUid), this.#noting(turn), ...(watch === undefined ? [] : [watch()])];
    const stages = [...watches, ...stagesOf(this.#parts, turn)];
    const enter = (signal: AbortSignal) => queue.enter(turn, "new", signal);
    const open = async () => exchange;
    return { runner: new Runner({ writer, state: "created", open, enter, stages, clock }), continuity };
  }

  /** Notes which conversation the turn uses. */
  #noting({ request: { model }, client }: NewTurn): EventStage {
    return {
      push: (body) => {
        if (body.type === "started" && body.cascadeId !== undefined)
          this.#parts.trajectoryNotes?.asked(body.cascadeId, { model, client });
        return [body];
      },
    };
  }

  /**
   * Resolves when the turn is durable, so that a client may learn its id. Storing the first event also flushes the turn. If the
   * server takes long to start a conversation, the turn is flushed alone.
   */
  #durable({ turnId, graceMs }: TurnRecord, runner: Runner): Promise<void> {
    const { store, clock } = this.#parts;
    const durable = (async () => {
      const isStored = await within(
        runner.stored.then(() => true),
        startsSoonMs,
        clock,
      );
      if (isStored === undefined) await bestEffort(store.noteReader(turnId, store.now(), graceMs));
    })();
    this.#unflushed.set(turnId, durable);
    return durable.finally(() => this.#unflushed.delete(turnId));
  }

  /**
   * Cancels the turns of the session whose conversation this request continues with another question, where nobody reads them: their client
   * went on without their answers. Every other turn without a reader has its grace time: sub-agents and titles share a session, and a
   * client whose connection broke comes back. Never fails.
   */
  async #endPassed({ turnId, createdAtMs, caller, session, request }: TurnRecord): Promise<void> {
    const { store, readers, running } = this.#parts;
    if (session === undefined) return;
    try {
      for (const other of await store.list({ caller, session, open: true, limit: mostOfSession })) {
        if (other.turnId === turnId || other.createdAtMs > createdAtMs || other.sealed === true) continue;
        if (readers.isWanted(other) || other.messageCount >= request.messages.length) continue;
        const passed = await store.get(other.turnId);
        if (passed === undefined || !goesOnPast(request.messages, passed.request.messages)) continue;
        if (!readers.isRead(passed)) await running.cancel(other.turnId, "superseded");
      }
    } catch {
      // the store fails: the turn that has begun goes on
    }
  }

  async #join(twin: TurnRecord, asked: RequestIdentity, signal: AbortSignal): Promise<StartedTurn> {
    refuseConflict(asked, twin);
    await this.#unflushed.get(twin.turnId);
    this.#parts.readers.expect(twin.turnId, signal);
    const record = await this.#parts.readers.note(twin, asked.graceMs);
    const joined = asked.idempotencyKey === undefined ? "implicit" : "key";
    return { turnId: record.turnId, record, joined, continuity: () => "joined" };
  }
}

/** The stored form of a request, as its turn begins. */
function newTurnOf(
  { graceMs, retry: _retry, body: _body, repeatsLate: _late, ...facts }: AskedTurn,
  createdAtMs: number,
  defaultGraceMs: number,
): NewTurn {
  return { ...facts, turnId: newTurnId(createdAtMs), createdAtMs, graceMs: graceMs ?? defaultGraceMs };
}

/** Throws where no turn is stored. */
function writerOf(stored: Awaited<ReturnType<TurnStorage["store"]>>): LogWriter {
  if (stored === undefined) throw new MillraceError("cancelled", "This request started no turn.");
  return stored.writer;
}
