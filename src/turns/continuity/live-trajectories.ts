import type { CascadeId } from "../../base/ids.ts";
import { type HistoryPart, isHeldIn, type VisibleHistory } from "./visible-history.ts";

/** A trajectory that is not in use and holds exactly `history`. */
export interface LiveTrajectory {
  readonly cascadeId: CascadeId;
  readonly history: VisibleHistory;
  /** Who may use it: one caller, in one session of theirs, with one IDE. */
  readonly owner: string;
  /** On the monotonic clock. */
  readonly idleSinceMs: number;
}

/** Every trajectory that is kept open: idle ones, and those that a turn uses now. Plain data. */
export interface LiveTrajectories {
  readonly idle: readonly LiveTrajectory[];
  readonly busy: readonly LiveTrajectory[];
}

export const noTrajectories: LiveTrajectories = { idle: [], busy: [] };

/** Why a prompt is built from the whole history. */
export type RebuildReason =
  | "first"
  | "unknown_history"
  | "busy"
  | "model_changed"
  | "instructions_changed"
  | "tools_changed"
  | "history_changed";

/** `without`: why the prompt is built from the whole history if the trajectory cannot take it, where that is known. */
export type HistoryChoice =
  | { readonly type: "reuse"; readonly cascadeId: CascadeId; readonly without?: RebuildReason }
  | { readonly type: "rebuild"; readonly reason: RebuildReason };

/**
 * Looks for an idle trajectory that holds exactly what the client shows, and marks it busy: it is given to one turn only. Where an agent
 * may wait for results, it is taken with other tools too, because an agent may take them. Without one, the reason is what differs from
 * the owner's newest trajectory.
 */
export function take(
  state: LiveTrajectories,
  owner: string,
  held: HistoryPart | undefined,
): { readonly state: LiveTrajectories; readonly choice: HistoryChoice } {
  const rebuild = (reason: RebuildReason) => ({ state, choice: { type: "rebuild", reason } as const });
  if (held === undefined) return rebuild("first");
  const { history, awaits } = held;
  const own = (each: LiveTrajectory) => each.owner === owner;
  const reuse = (found: LiveTrajectory, without: object) => ({
    state: { idle: state.idle.filter((each) => each !== found), busy: [...state.busy, found] },
    choice: { type: "reuse", cascadeId: found.cascadeId, ...without } as const,
  });
  const found = state.idle.findLast((each) => own(each) && same(each.history, history));
  if (found !== undefined) return reuse(found, {});
  const waits = awaits && state.idle.findLast((each) => own(each) && isHeldIn(history, each.history));
  if (waits) return reuse(waits, { without: "tools_changed" });
  if (state.busy.some((each) => own(each) && same(each.history, history))) return rebuild("busy");
  const newest = state.idle.findLast(own);
  return rebuild(newest === undefined ? "unknown_history" : difference(newest.history, history));
}

/** Makes the trajectory of an ended turn idle again, with its new history. Returns the trajectories that had to make room, oldest first. */
export function give(
  state: LiveTrajectories,
  trajectory: LiveTrajectory,
  limit: number,
): { readonly state: LiveTrajectories; readonly dropped: readonly CascadeId[] } {
  const { idle, busy } = drop(state, trajectory.cascadeId);
  const all = [...idle, trajectory];
  const dropped = all.slice(0, Math.max(0, all.length - limit)).map(({ cascadeId }) => cascadeId);
  return { state: { idle: all.slice(dropped.length), busy }, dropped };
}

/** The turn that has it sent nothing to it: it is idle again, as it was. */
export function giveBack(state: LiveTrajectories, cascadeId: CascadeId, idleSinceMs: number): LiveTrajectories {
  const its = state.busy.filter((each) => each.cascadeId === cascadeId);
  const { idle, busy } = drop(state, cascadeId);
  return { idle: [...idle, ...its.map((each) => ({ ...each, idleSinceMs }))], busy };
}

/** Whether a trajectory of this owner holds exactly that, in use or not. */
export function holds({ idle, busy }: LiveTrajectories, owner: string, history: VisibleHistory): boolean {
  return [...idle, ...busy].some((each) => each.owner === owner && same(each.history, history));
}

/** Whether this trajectory is known, idle or busy. */
export function has({ idle, busy }: LiveTrajectories, cascadeId: CascadeId): boolean {
  return [...idle, ...busy].some((each) => each.cascadeId === cascadeId);
}

/** Forgets a trajectory, idle or busy. */
export function drop(state: LiveTrajectories, cascadeId: CascadeId): LiveTrajectories {
  const other = (each: LiveTrajectory) => each.cascadeId !== cascadeId;
  return { idle: state.idle.filter(other), busy: state.busy.filter(other) };
}

/** Takes out every trajectory that has been idle since before `beforeMs`. */
export function expire(
  state: LiveTrajectories,
  beforeMs: number,
): { readonly state: LiveTrajectories; readonly expired: readonly CascadeId[] } {
  const expired = state.idle.filter(({ idleSinceMs }) => idleSinceMs < beforeMs);
  if (expired.length === 0) return { state, expired: [] };
  const idle = state.idle.filter((each) => !expired.includes(each));
  return { state: { ...state, idle }, expired: expired.map(({ cascadeId }) => cascadeId) };
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
