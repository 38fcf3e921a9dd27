import { type EventId, startOfLog, type TurnId } from "../base/ids.ts";
import type { OutlinedEvent, TurnEvent } from "./event.ts";
import type { LogStore, ReadLimit, ReadRight } from "./store.ts";

/** How many events a page has: few at first, so that a reader that comes back has its next event soon. */
const firstBatch = 16;
const largestBatch = 256;

/** Gives the next events of a turn, at least one; undefined after the terminal one. One call at a time. */
export type NextEvents<E = TurnEvent> = () => Promise<readonly E[] | undefined>;

/**
 * Every event of a turn after the cursor, live ones too, until the terminal one: in batches of at most 256 events or 256 KiB, or one event
 * that is larger. Throws what `LogStore.readAfter` throws, and the signal's reason while it waits.
 */
export function readTurn(
  log: Pick<LogStore, "readAfter">,
  { turnId, after, clientKey }: ReadRight & { readonly turnId: TurnId; readonly after: EventId },
  signal: AbortSignal,
): NextEvents {
  return pages((cursor, limit) => log.readAfter(turnId, cursor, { ...limit, clientKey }), after, signal);
}

/** As `readTurn`, for any turn, but without the content. */
export function readOutline(
  log: Pick<LogStore, "readOutlineAfter">,
  { turnId, after }: Parameters<typeof readTurn>[1],
  signal: AbortSignal,
): NextEvents<OutlinedEvent> {
  return pages((cursor, limit) => log.readOutlineAfter(turnId, cursor, limit), after, signal);
}

function pages<E extends { readonly eventId: EventId }>(
  read: (cursor: EventId, limit: ReadLimit) => Promise<{ readonly events: readonly E[]; readonly ended: boolean }>,
  after: EventId,
  signal: AbortSignal,
): NextEvents<E> {
  let cursor = after;
  let limit = firstBatch;
  let isOver = false;
  return async () => {
    if (isOver) return undefined;
    signal.throwIfAborted();
    const { events, ended } = await read(cursor, { limit, wait: signal });
    limit = Math.min(limit * 4, largestBatch);
    isOver = ended;
    cursor = events.at(-1)?.eventId ?? cursor;
    return events.length === 0 ? undefined : events;
  };
}

/** The events one by one, at the consumer's pace. */
export async function* eachOf<E>(next: NextEvents<E>): AsyncGenerator<E, void> {
  for (let events = await next(); events !== undefined; events = await next()) yield* events;
}

/** Everything that a log holds of a turn now, without waiting for more. */
export async function readAll(log: Pick<LogStore, "readAfter">, turnId: TurnId): Promise<readonly TurnEvent[]> {
  const all: TurnEvent[] = [];
  let cursor: EventId = startOfLog;
  for (;;) {
    const { events } = await log.readAfter(turnId, cursor, { limit: 1024 });
    const last = events.at(-1);
    if (last === undefined) return all;
    all.push(...events);
    cursor = last.eventId;
  }
}
