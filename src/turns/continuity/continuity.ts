import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { CascadeId } from "../../base/ids.ts";
import { writeJson } from "../../base/json.ts";
import type { TurnRequest } from "../../log/request.ts";
import type { TrajectoryNotes } from "./orphaned-trajectories.ts";
import {
  type HistoryPart,
  heldPart,
  historyAfter,
  isHeldIn,
  type VisibleAnswer,
  type VisibleHistory,
} from "./visible-history.ts";

/** Why a prompt is built from the whole history. */
type RebuildReason =
  | "first"
  | "unknown_history"
  | "busy"
  | "model_changed"
  | "instructions_changed"
  | "tools_changed"
  | "history_changed";

/** `without`: why the prompt is built from the whole history if the trajectory cannot take it, where that is known. */
type HistoryChoice =
  | { readonly type: "reuse"; readonly cascadeId: CascadeId; readonly without?: RebuildReason }
  | { readonly type: "rebuild"; readonly reason: RebuildReason };

/** A trajectory that is kept open, and what it held when its turn ended. */
interface LiveTrajectory {
  readonly history: VisibleHistory;
  /** Who may use it: one caller, in one session of theirs, with one IDE. */
  readonly owner: string;
  /** On the monotonic clock; undefined while a turn uses it. */
  idleSinceMs: number | undefined;
}

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
  /** Those that a turn uses, and the idle ones in the order in which they became so. */
  readonly #live = new Map<CascadeId, LiveTrajectory>();

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
    const choice: HistoryChoice =
      held === undefined ? { type: "rebuild", reason: "first" } : this.#take(ownerOf(asker), held);
    if (choice.type === "reuse") this.#options.notes?.taken(choice.cascadeId);
    return { ...choice, heldMessages: held?.heldMessages ?? 0 };
  }

  /**
   * Looks for an idle trajectory that holds exactly what the client shows: it is given to one turn only. Where an agent may wait for results,
   * it is taken with other tools too, because an agent may take them. Without one, the reason is what differs from the owner's newest.
   */
  #take(owner: string, { history, awaits }: HistoryPart): HistoryChoice {
    const own = [...this.#live].filter(([, each]) => each.owner === owner).reverse();
    const idle = own.filter(([, { idleSinceMs }]) => idleSinceMs !== undefined);
    const found = idle.find(([, each]) => same(each.history, history));
    const [cascadeId, taken] = found ?? idle.find(([, each]) => awaits && isHeldIn(history, each.history)) ?? [];
    if (cascadeId !== undefined && taken !== undefined) {
      taken.idleSinceMs = undefined;
      return { type: "reuse", cascadeId, ...(found === undefined && { without: "tools_changed" }) };
    }
    if (own.some(([, each]) => same(each.history, history))) return { type: "rebuild", reason: "busy" };
    const newest = idle[0]?.[1].history;
    return { type: "rebuild", reason: newest === undefined ? "unknown_history" : difference(newest, history) };
  }

  /** Whether the request continues a trajectory that is known here, in use or not. */
  knows(asker: Asker): boolean {
    const held = heldPart(asker.request, asker.modelUid);
    const isIts = ({ owner, history }: LiveTrajectory) =>
      held !== undefined && owner === ownerOf(asker) && same(history, held.history);
    return [...this.#live.values()].some(isIts);
  }

  /** Whether this trajectory is known here, in use or not. */
  has(cascadeId: CascadeId): boolean {
    return this.#live.has(cascadeId);
  }

  /** It will be kept: resolves when that is noted. */
  async foretell(cascadeId: CascadeId): Promise<void> {
    const { clock, idleMs, notes } = this.#options;
    await notes?.kept(cascadeId, clock.now() + idleMs);
  }

  /** The turn is over and its trajectory holds the request and this answer. */
  keep(asker: Asker, cascadeId: CascadeId, answer: VisibleAnswer): void {
    const history = historyAfter(asker.request, asker.modelUid, answer);
    this.#beIdle(cascadeId, { history, owner: ownerOf(asker) });
    const idle = this.#idle();
    this.#archive(idle.slice(0, Math.max(0, idle.length - (this.#options.limit ?? defaultLimit))));
  }

  /** The turn ended before it sent anything. */
  giveBack(cascadeId: CascadeId): void {
    const trajectory = this.#live.get(cascadeId);
    if (trajectory !== undefined) this.#beIdle(cascadeId, trajectory);
  }

  #beIdle(cascadeId: CascadeId, { history, owner }: Pick<LiveTrajectory, "history" | "owner">): void {
    this.#live.delete(cascadeId); // the newest is last
    this.#live.set(cascadeId, { history, owner, idleSinceMs: this.#options.clock.monotonic() });
    void this.foretell(cascadeId);
  }

  /** The turn ended in a way that leaves the content of its trajectory unknown. */
  release(cascadeId: CascadeId): void {
    this.#live.delete(cascadeId);
  }

  get kept(): number {
    return this.#idle().length;
  }

  #idle(beforeMs = Infinity): readonly CascadeId[] {
    return [...this.#live].flatMap(([cascadeId, { idleSinceMs = Infinity }]) =>
      idleSinceMs < beforeMs ? [cascadeId] : [],
    );
  }

  /** Archives all kept trajectories; resolves when that is done. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#sweeping;
    const idle = this.#idle();
    this.#live.clear();
    await Promise.all(idle.map((cascadeId) => this.#archived(cascadeId, true)));
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
    this.#archive(this.#idle(clock.monotonic() - idleMs));
  }

  #archive(cascadeIds: readonly CascadeId[]): void {
    for (const cascadeId of cascadeIds) {
      this.#live.delete(cascadeId);
      void this.#archived(cascadeId);
    }
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

function same(held: VisibleHistory, shown: VisibleHistory): boolean {
  return held.tools === shown.tools && isHeldIn(shown, held);
}

function difference(held: VisibleHistory, wanted: VisibleHistory): RebuildReason {
  if (held.messages !== wanted.messages) return "history_changed";
  if (held.model !== wanted.model) return "model_changed";
  if (held.instructions !== wanted.instructions) return "instructions_changed";
  return held.tools === wanted.tools ? "history_changed" : "tools_changed";
}
