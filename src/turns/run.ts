import { type Batch, mergeDeltas, type StopReason } from "../backends/backend.ts";
import { bestEffort, within } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import { toMillraceError } from "../base/errors.ts";
import { type CancelledBy, isTerminal, type TurnEventBody } from "../log/event.ts";
import type { AppendOutcome, LogWriter } from "../log/store.ts";
import { decide, isOver, stopFor, type TurnInput, type TurnState } from "./decide.ts";
import { type EventStage, through } from "./event-stage.ts";
import type { Deliver, Exchange } from "./exchange.ts";

/** How long a cancel waits until the backend is found, and again until it has the cancel, before the turn ends; ms each. */
const cancelFirstMs = 1_000;

/**
 * Runs one turn: takes the batches of its exchange, passes each through the stages and the machine, and appends the result.
 * The only writer of the turn's log. `stop` may come at any time; the first one counts. Source: docs/dev/turn-machine.md.
 */
export class Runner {
  readonly #options;
  readonly #stopUpstream = new AbortController();
  readonly #stopped = Promise.withResolvers<TurnInput>();
  #stopping: TurnInput | undefined;
  #state: TurnState;
  #upstreamEnded = false;
  /** The exchange, from the search for its backend to the end of its clean-up. Never rejects. */
  #working: Promise<TurnInput> | undefined;
  #opened = false;
  readonly #opening = Promise.withResolvers<void>();
  #writer: LogWriter | undefined;
  /** The batch that is being stored. Never rejects. */
  #storing: Promise<unknown> = Promise.resolve();
  #logFailure: { readonly error: unknown } | undefined;
  readonly #stored = Promise.withResolvers<void>();
  readonly #over = Promise.withResolvers<void>();

  constructor(options: {
    /** Rejects if the turn is not stored after all: the upstream conversation is then cancelled, and no prompt is sent. */
    readonly writer: LogWriter | Promise<LogWriter>;
    /** Where the log stands; `created` for a new turn. */
    readonly state: TurnState;
    /** Finds the backend. The reason of the signal is a `StopReason`. May throw the errors of finding a backend. */
    readonly open: (signal: AbortSignal) => Promise<Exchange>;
    /** Waits for the turn's place among the turns that run, until the signal aborts; the returned function gives it back. */
    readonly enter: (signal: AbortSignal) => Promise<() => void>;
    readonly stages: readonly EventStage[];
    readonly clock: Clock;
  }) {
    this.#options = options;
    this.#state = options.state;
  }

  get state(): TurnState {
    return this.#state;
  }

  /** Resolves when the turn is over here, which may be before the backend has cleaned up. Never rejects. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Resolves when the log has the first event of this runner, or the turn is over here. Never rejects. */
  get stored(): Promise<void> {
    return this.#stored.promise;
  }

  /** Ends the turn, or hands it over. Takes effect even while the backend is silent. */
  stop(why: { readonly type: "cancel"; readonly by: CancelledBy } | { readonly type: "detach" }): void {
    if (this.#stopping !== undefined) return;
    this.#stopping = why;
    this.#stopped.resolve(why);
  }

  /**
   * Begins upstream while the turn is still being stored: nothing is appended, and so no prompt is sent, before the writer is
   * there. Resolves when the backend has cleaned up; never rejects.
   */
  async begin(): Promise<void> {
    this.#working ??= this.#work();
    void bestEffort(Promise.resolve(this.#options.writer), () => this.#tell("cancel"));
    await this.#working;
  }

  /** Resolves when the turn is over here and the backend has cleaned up. Rejects with the log's errors. */
  async run(): Promise<TurnState> {
    let input: TurnInput;
    try {
      const goesOn = this.#stopping === undefined || wasAskedFor(this.#stopping); // an adopted turn whose cancel is stored begins no work
      if (goesOn) this.#working ??= this.#work();
      input = await Promise.race([this.#stopped.promise, ...(this.#working === undefined ? [] : [this.#working])]);
      if (wasAskedFor(input)) await this.#cancelUpstream();
      await this.#storing;
      if (this.#logFailure !== undefined) throw this.#logFailure.error;
      if (!isOver(this.#state)) await this.#end(input);
    } finally {
      this.#stored.resolve();
      this.#over.resolve();
      if (!isOver(this.#state)) this.#tell("cancel"); // the log failed and will not recover
      if (this.#opened) await this.#working;
    }
    if (input.type !== "detach") await this.#working; // a backend that is found late is stopped as well
    return this.#state;
  }

  async #work(): Promise<TurnInput> {
    const { signal } = this.#stopUpstream;
    let leave: (() => void) | undefined;
    try {
      const exchange = await this.#options.open(signal);
      this.#opened = true;
      if (this.#stopping !== undefined && wasAskedFor(this.#stopping)) this.#tell("cancel"); // as that of any other turn
      this.#opening.resolve();
      leave = await this.#options.enter(signal);
      const isLeftAlone = signal.aborted && signal.reason === ("detach" satisfies StopReason);
      // also when it was cancelled: it frees what it holds, and sends nothing
      if (!isLeftAlone) await exchange((batch) => (this.#storing = this.#store(batch)), signal);
      return { type: "upstream_ended" };
    } catch (error) {
      return { type: "upstream_threw", error: toMillraceError(error) };
    } finally {
      leave?.();
      this.#opening.resolve();
    }
  }

  /**
   * Runs before the terminal event is stored, because a turn with that event is never resumed, not even after a crash.
   * A process that takes the turn over in the meantime finds the cancel request and does the same.
   */
  async #cancelUpstream(): Promise<void> {
    const { clock } = this.#options;
    if (!this.#opened) await within(this.#opening.promise, cancelFirstMs, clock);
    if (!this.#opened || this.#working === undefined) return;
    this.#tell("cancel");
    await within(bestEffort(this.#working), cancelFirstMs, clock);
  }

  /**
   * Stores one poll's batch in one transaction; answers as `Deliver` says. Never rejects. This and the store's `append` are all that
   * waits between a backend's batch and the log.
   */
  async #store(batch: Batch): ReturnType<Deliver> {
    if (this.#writer === undefined) {
      try {
        this.#writer = await this.#options.writer;
      } catch {
        this.#tell("cancel"); // not stored, so not asked either
        return "stopped";
      }
    }
    if (this.#stopping?.type === "detach") this.#tell("detach"); // before the backend goes on: its batch was not taken
    if (this.#stopping !== undefined || isOver(this.#state)) return "stopped";
    this.#upstreamEnded ||= batch.some(isTerminal);
    try {
      const { state, appends } = this.#decide(through(this.#options.stages, batch));
      const appended = await this.#writer.append(mergeDeltas(appends), this.#options.clock.now());
      this.#appended(appended, state);
      if (!isOver(this.#state)) return "goes_on";
      return appended === "appended" ? "ended" : "stopped";
    } catch (error) {
      this.#logFailure = { error };
      this.#tell("cancel");
      return "stopped";
    }
  }

  /** Ends the turn, or hands it over. The stages get the terminal event too: they give back the text that they hold. */
  async #end(input: TurnInput): Promise<void> {
    this.#upstreamEnded ||= input.type === "upstream_ended" || input.type === "upstream_threw";
    const decision = decide(this.#state, input);
    const ends = decision.appends.length > 0;
    const { state, appends } = ends ? this.#decide(through(this.#options.stages, decision.appends)) : decision;
    const writer = await this.#options.writer;
    this.#appended(await writer.append(mergeDeltas(appends), this.#options.clock.now()), state);
  }

  #decide(bodies: readonly TurnEventBody[]): { readonly state: TurnState; readonly appends: readonly TurnEventBody[] } {
    const appends: TurnEventBody[] = [];
    let state = this.#state;
    for (const body of bodies) {
      const decision = decide(state, { type: "event", body });
      state = decision.state;
      appends.push(...decision.appends);
    }
    return { state, appends };
  }

  #appended(appended: AppendOutcome, state: TurnState): void {
    this.#stored.resolve();
    this.#state = appended === "appended" ? state : decide(this.#state, { type: "fenced" }).state;
    // only now: the process that took the turn over needs the upstream; a removed turn does not
    const reason = appended === "removed" ? "cancel" : stopFor(this.#state, this.#upstreamEnded);
    if (reason !== undefined) this.#tell(reason);
    if (isOver(this.#state)) this.#over.resolve();
  }

  #tell(reason: StopReason): void {
    this.#stopUpstream.abort(reason);
  }
}

/** Whether a request to cancel was stored with the turn; a stop of the gateway stores none, and an IDE that cancelled needs none. */
function wasAskedFor(input: TurnInput): boolean {
  return input.type === "cancel" && input.by !== "shutdown" && input.by !== "ide";
}
