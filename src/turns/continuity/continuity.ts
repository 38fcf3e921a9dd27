import { isAwaited, type Prompt } from "../../backends/backend.ts";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { CascadeId } from "../../base/ids.ts";
import { writeJson } from "../../base/json.ts";
import type { FinishReason, TurnEventBody } from "../../log/event.ts";
import { readAll } from "../../log/read-turn.ts";
import type { TurnRequest } from "../../log/request.ts";
import type { LogStore, TurnFilter, TurnLabel } from "../../log/store.ts";
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
  sameButTools,
  take,
} from "./live-trajectories.ts";
import type { TrajectoryNotes } from "./orphaned-trajectories.ts";
import { heldPart, historyAfter, type VisibleAnswer, visibleAnswer } from "./visible-history.ts";

export interface ContinuityOptions {
  readonly clock: Clock;
  /** How long a trajectory is kept for the next turn of its conversation, and a prompt waits for the results of its calls; ms. */
  readonly idleMs: number;
  /** How many are kept at most. */
  readonly limit?: number;
  /** Cleans up a trajectory that will not be continued. */
  readonly archive: (cascadeId: CascadeId) => Promise<void>;
  /** Called for every trajectory that is kept, and for its end. */
  readonly notes?: Pick<TrajectoryNotes, "kept" | "taken" | "archived"> | undefined;
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
  readonly #options: ContinuityOptions;
  readonly #stopping = new AbortController();
  readonly #sweeping: Promise<void>;
  #state: LiveTrajectories = noTrajectories;

  constructor(options: ContinuityOptions) {
    this.#options = options;
    this.#sweeping = this.#sweep();
  }

  /** Whether the request continues a live trajectory. It then owns the trajectory until `keep` or `release`. */
  choose(asker: Asker): Continuation {
    this.#expire();
    const held = heldPart(asker.request, asker.modelUid);
    const { state, choice } = take(this.#state, { owner: ownerOf(asker), history: held?.history });
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

  /** The turn is over and its trajectory holds the request and this answer. */
  keep(asker: Asker, cascadeId: CascadeId, answer: VisibleAnswer): void {
    const history = historyAfter(asker.request, asker.modelUid, answer);
    const { clock, idleMs } = this.#options;
    const idleSinceMs = clock.monotonic();
    const waits = answer.waits === true;
    const trajectory = { cascadeId, history, owner: ownerOf(asker), idleSinceMs, waits };
    const { state, dropped } = give(this.#state, trajectory, this.#options.limit ?? defaultLimit);
    this.#state = state;
    this.#options.notes?.kept(cascadeId, clock.now() + idleMs);
    this.#archive(dropped);
  }

  /** The turn ended before it sent anything: a prompt that waits in the trajectory waits on. */
  giveBack(cascadeId: CascadeId): void {
    const { clock, idleMs, notes } = this.#options;
    this.#state = giveBack(this.#state, cascadeId, clock.monotonic());
    if (has(this.#state, cascadeId)) notes?.kept(cascadeId, clock.now() + idleMs);
  }

  /** The turn ended in a way that leaves the content of its trajectory unknown. */
  release(cascadeId: CascadeId): void {
    this.#state = drop(this.#state, cascadeId);
  }

  get kept(): number {
    return this.#state.idle.length;
  }

  /** Archives all kept trajectories but those whose prompt waits, for the next process; resolves when that is done. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#sweeping;
    const left = this.#state.idle.flatMap(({ cascadeId, waits }) => (waits ? [] : cascadeId));
    this.#state = noTrajectories;
    await Promise.all(left.map((cascadeId) => this.#archived(cascadeId)));
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
  async #archived(cascadeId: CascadeId): Promise<void> {
    const { archive, notes } = this.#options;
    try {
      await archive(cascadeId);
      notes?.archived(cascadeId);
    } catch {
      notes?.taken(cascadeId);
    }
  }
}

function ownerOf({ caller, session }: Asker): string {
  return writeJson([caller, session ?? null]);
}

/**
 * How many of the newest turns of other processes are looked at: few, and more if it is none of these. While one client runs a tool, others
 * may begin hundreds of turns.
 */
const lookedAt = [32, 128, 512];
/** How long after the start of this process they are looked at; ms. No call waits longer. */
const waitsMs = 20 * 60_000;

/**
 * A function that looks in the log for the conversation of a request that ends with results, where it is not known here. An earlier
 * process may have left a prompt that waits for these results. It is then registered here, so that the request can continue it. Throws the
 * errors of the store.
 */
export function openRecall({
  store,
  continuity,
  clock,
  owner,
  ownerIsGone,
}: {
  readonly store: Pick<LogStore, "list" | "get" | "readAfter">;
  readonly continuity: Continuity;
  readonly clock: Clock;
  /** This process. */
  readonly owner: string;
  readonly ownerIsGone: (owner: string) => boolean;
}): (asker: Asker) => Promise<void> {
  const untilMs = clock.monotonic() + waitsMs;
  return async (asker) => {
    const { request, modelUid, caller, session } = asker;
    const held = heldPart(request, modelUid);
    const last = request.messages.at(-1);
    if (held === undefined || last?.role !== "tool" || !isAwaited(last.callId)) return;
    if (clock.monotonic() > untilMs || continuity.knows(asker)) return;
    const filter = { caller, ...(session === undefined ? {} : { session }), exceptOwner: owner };
    for await (const label of newest(store, filter)) {
      const isEarlier = label.outcome === "finished" && label.messageCount + 1 === held.heldMessages;
      if (!isEarlier || label.session !== session || !ownerIsGone(label.owner)) continue;
      const turn = await store.get(label.turnId);
      if (turn === undefined) continue;
      const events = await readAll(store, turn.turnId);
      const begun = events.find(({ type }) => type === "started");
      const end = events.at(-1);
      if (begun?.type !== "started" || begun.cascadeId === undefined || end?.type !== "finished") continue;
      const answer = visibleAnswer(events, end);
      const history = historyAfter(turn.request, turn.modelUid, answer);
      const isIts = answer.waits === true && sameButTools(history, held.history);
      if (!isIts || continuity.has(begun.cascadeId)) continue; // what is known of a trajectory here is newer than this turn
      continuity.keep(turn, begun.cascadeId, answer);
      return;
    }
  };
}

async function* newest(
  store: Pick<LogStore, "list">,
  filter: Omit<TurnFilter, "limit">,
): AsyncGenerator<TurnLabel, void> {
  let before = 0;
  for (const limit of lookedAt) {
    const turns = await store.list({ ...filter, limit });
    yield* turns.slice(before);
    if (turns.length < limit) return;
    before = limit;
  }
}

/** Whether a conversation can go on after an answer that ended so. */
export function isContinued({ unified }: FinishReason): boolean {
  return unified === "stop" || unified === "tool_calls";
}

export interface ConversationOptions {
  readonly continuity: Continuity;
  readonly asker: Asker;
  readonly choice: Continuation;
  /** The prompt for the trajectory that the choice names; undefined where the layout cannot say it. */
  readonly continued: Prompt | undefined;
}

/**
 * The conversation of one turn: the choice of its trajectory, and that trajectory's end. The trajectory of a whole answer is kept for
 * the next turn. A chosen trajectory that is not kept again is released.
 */
export class Conversation {
  readonly #options: ConversationOptions;
  readonly #calls: TurnEventBody[] = [];
  #chosen: CascadeId | undefined;
  #travelled: string | undefined;

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.#chosen = options.choice.type === "reuse" ? options.choice.cascadeId : undefined;
  }

  /** How the prompt travelled, once that is known: `reused`, `rebuilt(reason)`. */
  get travelled(): string | undefined {
    return this.#travelled;
  }

  get continued(): Prompt | undefined {
    return this.#options.continued;
  }

  /** The prompt goes into the trajectory that holds its history. */
  reuse(): void {
    this.#travelled = "reused";
  }

  /** The prompt goes into a fresh trajectory, with its whole history. */
  rebuild(): void {
    const { choice } = this.#options;
    this.close();
    this.#travelled = `rebuilt(${choice.type === "reuse" ? (choice.without ?? "trajectory_gone") : choice.reason})`;
  }

  /** Notes the visible parts of the answer that are not text. */
  note(events: readonly TurnEventBody[]): void {
    this.#calls.push(...events.filter(({ type }) => type === "tool_call"));
  }

  /** Keeps the trajectory for the next turn. Called once the end of its turn is in the log: a stop archives what is kept. */
  keep(cascadeId: CascadeId, end: { readonly reason: FinishReason; readonly text: string }): void {
    const { continuity, asker } = this.#options;
    continuity.keep(asker, cascadeId, visibleAnswer(this.#calls, end));
    if (cascadeId === this.#chosen) this.#chosen = undefined;
  }

  /** Nothing was sent to the trajectory that was chosen. */
  giveBack(): void {
    if (this.#chosen !== undefined) this.#options.continuity.giveBack(this.#chosen);
    this.#chosen = undefined;
  }

  /** Releases the trajectory that was chosen, unless it is kept. */
  close(): void {
    if (this.#chosen !== undefined) this.#options.continuity.release(this.#chosen);
    this.#chosen = undefined;
  }
}
