import type { Batch, StopReason } from "../backends/backend.ts";
import { bestEffort, within } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import { toMillraceError } from "../base/errors.ts";
import { type CancelledBy, isTerminal, type TurnEventBody } from "../log/event.ts";
import type { LogWriter } from "../log/store.ts";
import { decide, isOver, stopFor, type TurnInput, type TurnState } from "./decide.ts";
import { mergeDeltas } from "./merge-deltas.ts";
import type { EventTransform } from "./transform.ts";
import { Upstream } from "./upstream.ts";

/** Events of one transaction, at most; keeps a torrent from holding readers back. */
const largestBatch = 256;

/** How long a cancel waits for the backend, to be found and then to be told, before the turn ends; ms each. */
const cancelFirstMs = 1_000;

export interface RunnerOptions {
  readonly writer: LogWriter;
  /** Where the log stands; `created` for a new turn. */
  readonly state: TurnState;
  /** Opens the backend's stream. Its signal's reason is a `StopReason`. May throw what finding a backend throws. */
  readonly open: (signal: AbortSignal) => Promise<AsyncIterable<Batch>>;
  readonly transforms: readonly EventTransform[];
  readonly clock: Clock;
}

/**
 * Runs one turn: pulls the backend, feeds the machine, appends what it decides. The only writer of the turn's log.
 * `stop` may come at any time; the first one counts. Source: docs/turn-machine.md.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #stopUpstream = new AbortController();
  readonly #stopped: Promise<TurnInput>;
  #stop: (input: TurnInput) => void = () => {};
  #stopping: TurnInput | undefined;
  #state: TurnState;
  #upstreamEnded = false;
  readonly #over = Promise.withResolvers<void>();

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#state = options.state;
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
  }

  get state(): TurnState {
    return this.#state;
  }

  /** Resolves when the turn is over here, which may be before the backend has cleaned up. Never rejects. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Ends the turn, or hands it over. Takes effect even while the backend is silent. */
  stop(why: { readonly type: "cancel"; readonly by: CancelledBy } | { readonly type: "detach" }): void {
    if (this.#stopping !== undefined) return;
    this.#stopping = why;
    this.#stop(why);
  }

  /** Resolves when the turn is over here and the backend has cleaned up. Rejects with what the log throws. */
  async run(): Promise<TurnState> {
    let upstream: Upstream | undefined;
    try {
      upstream = await this.#open();
      while (!isOver(this.#state)) {
        const inputs = await this.#gather(upstream);
        if (inputs.some(wasAskedFor)) await this.#cancelUpstream(upstream);
        await this.#step(inputs);
      }
    } finally {
      this.#over.resolve();
      if (!isOver(this.#state)) this.#stopUpstream.abort("cancel" satisfies StopReason); // the log failed for good
      if (upstream !== undefined) await bestEffort(upstream.close({ ended: this.#upstreamEnded }));
    }
    return this.#state;
  }

  async #open(): Promise<Upstream | undefined> {
    if (this.#stopping !== undefined && !wasAskedFor(this.#stopping)) return undefined; // over before it goes on
    const opening = this.#options.open(this.#stopUpstream.signal).then(
      (events): Upstream | TurnInput => new Upstream(events),
      (error: unknown): TurnInput => ({ type: "upstream_threw", error: toMillraceError(error) }),
    );
    const opened = await Promise.race([this.#stopped, opening]);
    if (opened instanceof Upstream) return opened;
    const soon = wasAskedFor(opened) ? await within(opening, cancelFirstMs, this.#options.clock) : undefined;
    if (soon instanceof Upstream) return soon; // the backend is told first, as that of any other turn
    await this.#step([opened]); // the turn is over
    if (opened.type !== "cancel") return undefined;
    this.#over.resolve();
    const late = await opening;
    return late instanceof Upstream ? late : undefined; // opened all the same: it is closed, and so cancelled upstream
  }

  /**
   * Before the terminal event, for as long as that may take: once the log has it nobody comes back to this turn, not even after a
   * crash. Whoever takes the turn over meanwhile finds the request to cancel, and does the same.
   */
  async #cancelUpstream(upstream: Upstream | undefined): Promise<void> {
    if (upstream === undefined) return;
    this.#stopUpstream.abort("cancel" satisfies StopReason);
    await within(bestEffort(upstream.close({ ended: false })), cancelFirstMs, this.#options.clock);
  }

  /** One input, and with it all that the backend had ready: what one poll answered is one transaction. */
  async #gather(upstream: Upstream | undefined): Promise<readonly TurnInput[]> {
    if (this.#stopping !== undefined || upstream === undefined) return [await this.#stopped];
    const first = await Promise.race([this.#stopped, upstream.next()]);
    if (first.type === "cancel" || first.type === "detach" || first.type === "fenced") return [first];
    upstream.take();
    const inputs: TurnInput[] = [first];
    let last: TurnInput | undefined = first;
    while (inputs.length < largestBatch && last !== undefined && mayPullOn(last) && this.#stopping === undefined) {
      last = await upstream.nextAtOnce();
      if (last === undefined) break;
      upstream.take();
      inputs.push(last);
    }
    return inputs;
  }

  async #step(inputs: readonly TurnInput[]): Promise<void> {
    this.#upstreamEnded ||= inputs.some(endsUpstream);
    const appends: TurnEventBody[] = [];
    let state = this.#state;
    for (const input of inputs.flatMap((each) => this.#transformed(each))) {
      const decision = decide(state, input);
      state = decision.state;
      appends.push(...decision.appends);
    }
    const { outcome } = await this.#options.writer.append(mergeDeltas(appends), this.#options.clock.now());
    this.#state = outcome === "appended" ? state : decide(this.#state, { type: "fenced" }).state;
    // only now: whoever fenced us off needs the upstream; a turn that was removed needs it no more
    const reason = outcome === "removed" ? "cancel" : stopFor(this.#state, this.#upstreamEnded);
    if (reason !== undefined) this.#stopUpstream.abort(reason);
  }

  /** Terminal events that are made here pass through the transforms too: they give back the text that they hold. */
  #transformed(input: TurnInput): readonly TurnInput[] {
    let bodies = input.type === "event" ? [input.body] : decide(this.#state, input).appends;
    if (bodies.length === 0) return [input];
    for (const transform of this.#options.transforms) bodies = bodies.flatMap((body) => transform.push(body));
    return bodies.map((body) => ({ type: "event", body }));
  }
}

/** A cancel that is stored with the turn, as a request; a stop's is not, and an IDE's own needs none. */
function wasAskedFor(input: TurnInput): boolean {
  return input.type === "cancel" && input.by !== "shutdown" && input.by !== "ide";
}

/** Not past `started`, which must be stored first, nor past an end. */
function mayPullOn(input: TurnInput): boolean {
  return input.type === "event" && input.body.type !== "started" && !isTerminal(input.body);
}

function endsUpstream(input: TurnInput): boolean {
  return (
    input.type === "upstream_ended" ||
    input.type === "upstream_threw" ||
    (input.type === "event" && isTerminal(input.body))
  );
}
