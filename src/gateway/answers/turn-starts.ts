import type { TurnId } from "../../base/ids.ts";
import type { Attachment, StreamTurns } from "../../turns/attach/attachment.ts";
import type { StartedTurn, StartTurn, Turns } from "../../turns/turns.ts";

/** Tells who listens that a new turn began. */
export interface TurnStarts {
  /** Called with every turn that starts from now on. Answers what ends it. */
  subscribe(listener: (turnId: TurnId) => void): () => void;
}

/** The same turns, and word of each new one: for whatever reads turns from their start (dashboard, usage recorder). */
export function announceTurns(turns: StreamTurns): { readonly turns: StreamTurns; readonly starts: TurnStarts };
export function announceTurns(turns: Turns): { readonly turns: Turns; readonly starts: TurnStarts };
export function announceTurns(turns: Turns & Partial<StreamTurns>): {
  readonly turns: Turns & Partial<StreamTurns>;
  readonly starts: TurnStarts;
} {
  const listeners = new Set<(turnId: TurnId) => void>();
  const announce = (turnId: TurnId) => {
    for (const listener of listeners) listener(turnId);
  };
  async function start(turn: StartTurn, signal: AbortSignal): Promise<StartedTurn> {
    const started = await turns.start(turn, signal);
    if (started.joined === "no") announce(started.turnId);
    return started;
  }
  const { attach } = turns;
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
      outline: (...asked) => turns.outline(...asked),
      untilEnded: (...asked) => turns.untilEnded(...asked),
      lastAliveAtMs: (turnId) => turns.lastAliveAtMs(turnId),
      noteAttached: (...asked) => turns.noteAttached(...asked),
      noteDelivered: (turnId) => turns.noteDelivered(turnId),
      cancel: (...asked) => turns.cancel(...asked),
      get: (...asked) => turns.get(...asked),
      remove: (turnId) => turns.remove(turnId),
      list: (filter) => turns.list(filter),
      stop: () => turns.stop(),
      ...(attach && { attach: async (...asked) => announcing(await attach.apply(turns, asked), announce) }),
    },
  };
}

function announcing(attachment: Attachment, announce: (turnId: TurnId) => void): Attachment {
  return {
    ...attachment,
    async send(...asked) {
      const sent = await attachment.send(...asked);
      if (sent.turn !== undefined) announce(sent.turn.turnId);
      return sent;
    },
  };
}
