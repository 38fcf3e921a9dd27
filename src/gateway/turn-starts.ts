import type { TurnId } from "../base/ids.ts";
import type { StartedTurn, StartTurn, Turns } from "../turns/turns.ts";

/** Tells who listens that a new turn began. */
export interface TurnStarts {
  /** Called with every turn that starts from now on; answers what ends it. */
  subscribe(listener: (turnId: TurnId) => void): () => void;
}

/** The same turns, and word of each new one: for whatever reads turns from their start (dashboard, usage recorder). */
export function announceTurns(turns: Turns): { readonly turns: Turns; readonly starts: TurnStarts } {
  const listeners = new Set<(turnId: TurnId) => void>();
  async function start(turn: StartTurn, signal: AbortSignal): Promise<StartedTurn> {
    const started = await turns.start(turn, signal);
    if (started.joined === "no") for (const listener of listeners) listener(started.turnId);
    return started;
  }
  return {
    starts: {
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    turns: {
      start,
      join: (...asked) => turns.join(...asked),
      read: (...asked) => turns.read(...asked),
      follow: (...asked) => turns.follow(...asked),
      lastAliveAtMs: (turnId) => turns.lastAliveAtMs(turnId),
      cancel: (...asked) => turns.cancel(...asked),
      get: (turnId) => turns.get(turnId),
      remove: (turnId) => turns.remove(turnId),
      list: (filter) => turns.list(filter),
      stop: () => turns.stop(),
    },
  };
}
