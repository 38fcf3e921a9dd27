import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { CascadeId } from "../../base/ids.ts";
import { writeJson } from "../../base/json.ts";
import type { TurnRequest } from "../../log/request.ts";
import {
  drop,
  expire,
  give,
  giveBack,
  type HistoryChoice,
  has,
  holds,
  type LiveTrajectories,
  noTrajectories,
  take,
} from "./live-trajectories.ts";
import type { TrajectoryNotes } from "./orphaned-trajectories.ts";
import { heldPart, historyAfter, type VisibleAnswer } from "./visible-history.ts";

/** Whose request it is: trajectories never cross callers, nor the sessions that clients name. */
export interface Asker {
  readonly request: TurnRequest;
  readonly modelUid: string;
  readonly caller: string;
  readonly session: string | undefined;
}

/** `heldMessages` of the request are in the trajectory already. */
export type Continuation = HistoryChoice & { readonly heldMessages: number };

const defaultLimit = 32;

/**
 * The trajectories that are kept open between the turns of a conversation. In memory: what a gateway forgets is rebuilt
 * from the history that the client sends, or recalled from the log where its prompt waits.
 */
export class Continuity {
  readonly #options;
  readonly #stopping = new AbortController();
  readonly #sweeping: Promise<void>;
  #state: LiveTrajectories = noTrajectories;

  constructor(options: {
    readonly clock: Clock;
    /** How long a trajectory is kept for the next turn of its conversation, and a prompt waits for the results of its calls; ms. */
    readonly idleMs: number;
    /** How many are kept at most. */
    readonly limit?: number;
    /** Cleans up a trajectory that will not be continued; at a stop only one where no prompt waits, because that goes on in the next gateway. */
    readonly archive: (cascadeId: CascadeId, isStop: boolean) => Promise<void>;
    /** Called for every trajectory that is kept, and no longer. That it was archived is noted by its backend. */
    readonly notes?: Pick<TrajectoryNotes, "kept" | "taken"> | undefined;
  }) {
    this.#options = options;
    this.#sweeping = this.#sweep();
  }

  /** Whether the request continues a live trajectory. It then owns the trajectory until `keep` or `release`. */
  choose(asker: Asker): Continuation {
    this.#expire();
    const held = heldPart(asker.request, asker.modelUid);
    const { state, choice } = take(this.#state, ownerOf(asker), held);
    this.#state = state;
    if (choice.type === "reuse") this.#options.notes?.taken(choice.cascadeId);
    return { ...choice, heldMessages: held?.heldMessages ?? 0 };
  }

  /** Whether the request continues a trajectory that is known here, in use or not. */
  knows(asker: Asker): boolean {
    const held = heldPart(asker.request, asker.modelUid);
    return held !== undefined && holds(this.#state, ownerOf(asker), held.history);
  }

  /** Whether this trajectory is known here, in use or not. */
  has(cascadeId: CascadeId): boolean {
    return has(this.#state, cascadeId);
  }

  /** It will be kept: resolves when that is noted. */
  async foretell(cascadeId: CascadeId): Promise<void> {
    const { clock, idleMs, notes } = this.#options;
    await notes?.kept(cascadeId, clock.now() + idleMs);
  }

  /** The turn is over and its trajectory holds the request and this answer. */
  keep(asker: Asker, cascadeId: CascadeId, answer: VisibleAnswer): void {
    const history = historyAfter(asker.request, asker.modelUid, answer);
    const { clock, idleMs } = this.#options;
    const idleSinceMs = clock.monotonic();
    const trajectory = { cascadeId, history, owner: ownerOf(asker), idleSinceMs };
    const { state, dropped } = give(this.#state, trajectory, this.#options.limit ?? defaultLimit);
    this.#state = state;
    void this.#options.notes?.kept(cascadeId, clock.now() + idleMs);
    this.#archive(dropped);
  }

  /** The turn ended before it sent anything. */
  giveBack(cascadeId: CascadeId): void {
    const { clock, idleMs, notes } = this.#options;
    this.#state = giveBack(this.#state, cascadeId, clock.monotonic());
    void notes?.kept(cascadeId, clock.now() + idleMs);
  }

  /** The turn ended in a way that leaves the content of its trajectory unknown. */
  release(cascadeId: CascadeId): void {
    this.#state = drop(this.#state, cascadeId);
  }

  get kept(): number {
    return this.#state.idle.length;
  }

  /** Archives all kept trajectories; resolves when that is done. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#sweeping;
    const { idle } = this.#state;
    this.#state = noTrajectories;
    await Promise.all(idle.map(({ cascadeId }) => this.#archived(cascadeId, true)));
  }

  /** Ends when it is closed: the sleep is aborted. */
  async #sweep(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await bestEffort(this.#options.clock.sleep(Math.max(1_000, this.#options.idleMs / 20), signal));
      if (!signal.aborted) this.#expire();
    }
  }

  #expire(): void {
    const { clock, idleMs } = this.#options;
    const { state, expired } = expire(this.#state, clock.monotonic() - idleMs);
    this.#state = state;
    this.#archive(expired);
  }

  #archive(cascadeIds: readonly CascadeId[]): void {
    for (const cascadeId of cascadeIds) void this.#archived(cascadeId);
  }

  /** A trajectory that could not be archived is noted as no longer kept, so the next look for orphans archives it. */
  async #archived(cascadeId: CascadeId, isStop = false): Promise<void> {
    const { archive, notes } = this.#options;
    try {
      await archive(cascadeId, isStop);
    } catch {
      notes?.taken(cascadeId);
    }
  }
}

function ownerOf({ caller, session }: Asker): string {
  return writeJson([caller, session ?? null]);
}
