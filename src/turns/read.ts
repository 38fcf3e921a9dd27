import type { EventId, TurnId } from "../base/ids.ts";
import type { OutlinedEvent, TurnEvent } from "../log/event.ts";
import { eachOf, type NextEvents, readOutline, readTurn } from "../log/read-turn.ts";
import type { LogStore, ReadRight } from "../log/store.ts";
import type { Readers } from "./readers.ts";
import type { TurnReader } from "./turns.ts";

/** The ways to read a turn. The last argument has the client's key of a turn that was sealed with one. */
export type TurnReads = ReturnType<typeof openReads>;

/** Reads turns. `stopping` aborts when the gateway stops. */
export function openReads(store: LogStore, readers: Readers, stopping: AbortSignal) {
  /** Aborts with the signal. If turns continue after a restart, also when the gateway stops. */
  const untilStopped = (signal: AbortSignal) =>
    store.capabilities.survivesRestart ? AbortSignal.any([signal, stopping]) : signal;

  /** As `follow`, in batches. */
  function look(turnId: TurnId, after: EventId, signal: AbortSignal, { clientKey }: ReadRight = {}): NextEvents {
    return readTurn(store, { turnId, after, clientKey }, untilStopped(signal));
  }

  /**
   * Every event after the cursor, until the terminal one, in batches and at the reader's pace. A reader that stops early cancels nothing:
   * the turn continues for its grace time. Its `next` throws `invalid_request` for an unknown turn or a cursor past its end, `expired`
   * when the log is no longer kept, `cancelled` when the gateway stops first.
   */
  function open(turnId: TurnId, after: EventId, signal: AbortSignal, opening?: ReadRight): TurnReader {
    const leave = readers.enter(turnId);
    let isClosed = false;
    return {
      next: look(turnId, after, signal, opening),
      async close(isDelivered) {
        if (isClosed) return;
        isClosed = true;
        try {
          if (isDelivered) await store.noteDelivered(turnId);
        } finally {
          leave();
        }
      },
    };
  }

  return {
    look,
    open,
    /** As `open`, one by one, for onlookers (dashboard, tail): it neither keeps a turn alive nor counts as its delivery. */
    follow: (...asked: Parameters<typeof look>) => eachOf(look(...asked)),
    /** As `follow`, without the content: for any turn, also one that its client sealed. For counting and for the dashboard. */
    outline: (turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<OutlinedEvent, void> =>
      eachOf(readOutline(store, { turnId, after }, untilStopped(signal))),
  };
}

/** The events one by one. A consumer that asks for more after the last one confirms that it delivered the whole answer. */
export async function* eachDelivered(open: () => TurnReader): AsyncGenerator<TurnEvent, void> {
  const { next, close } = open();
  let isDelivered = false;
  try {
    yield* eachOf(next);
    isDelivered = true;
  } finally {
    await close(isDelivered);
  }
}
