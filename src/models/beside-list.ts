import { bestEffort, orAborted, timeLimit, within } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import type { EventSink } from "../base/emitter.ts";
import type { MillraceError } from "../base/errors.ts";
import type { AgentModel } from "./agent-models.ts";
import type { ModelLifecycle } from "./lifecycle.ts";

/** An agent that lists its models; asking may start its program. */
export interface AgentSource {
  readonly name: string;
  models(signal: AbortSignal): Promise<readonly AgentModel[]>;
  /** Resolves with the error for a request that waits for `models`, once the agent is too slow. Rejects with the signal's reason. */
  untilSlow?(signal: AbortSignal): Promise<MillraceError>;
}

interface Patience {
  /** The oldest list that will do, in ms. */
  readonly maxAgeMs: number;
  /** How long to wait for a new one, in ms; then the list from before is taken. */
  readonly waitMs: number;
}

/** An agent may take this long to start and to list its models; ms. */
const askMs = 60_000;
/** After a failure the agent is left alone for this long; ms. */
const pauseMs = 60_000;

/**
 * The models of an agent beside the account's own list. A caller waits a limited time: the request continues in the background, and the
 * next caller gets its answer. A row of docs/dev/turn-machine.md.
 */
export class BesideList {
  readonly #clock: Clock;
  readonly #events: EventSink<ModelLifecycle> | undefined;
  #taken: { readonly models: readonly AgentModel[]; readonly atMs: number } | undefined;
  #asking: { readonly done: Promise<void>; readonly sinceMs: number } | undefined;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, events: EventSink<ModelLifecycle> | undefined) {
    this.#clock = clock;
    this.#events = events;
  }

  /** As it was read last; empty before that. */
  get last(): readonly AgentModel[] {
    return this.#taken?.models ?? [];
  }

  get isKnown(): boolean {
    return this.#taken !== undefined;
  }

  /** Throws only the signal's reason. */
  async read(source: AgentSource, { maxAgeMs, waitMs }: Patience, signal: AbortSignal): Promise<readonly AgentModel[]> {
    const nowMs = this.#clock.monotonic();
    if (this.#taken !== undefined && nowMs - this.#taken.atMs < maxAgeMs) return this.last;
    if (this.#asking === undefined && nowMs - this.#failedAtMs >= pauseMs) {
      this.#asking = { done: this.#ask(source), sinceMs: nowMs };
    }
    const leftMs = this.#asking === undefined ? 0 : this.#asking.sinceMs + waitMs - nowMs;
    if (this.#asking !== undefined && leftMs > 0) {
      await orAborted(within(this.#asking.done, leftMs, this.#clock), signal);
    }
    return this.last;
  }

  /** Never rejects. */
  async #ask(source: AgentSource): Promise<void> {
    await bestEffort(this.#answered(source), (error) => {
      this.#failedAtMs = this.#clock.monotonic();
      this.#events?.emit("agent_models_unread", { agent: source.name, error });
    });
    this.#asking = undefined;
  }

  async #answered(source: AgentSource): Promise<void> {
    const models = await source.models(timeLimit(askMs));
    this.#taken = { models, atMs: this.#clock.monotonic() };
  }
}
