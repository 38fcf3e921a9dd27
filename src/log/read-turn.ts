import type { EventId, TurnId } from "../base/ids.ts";
import type { TurnEvent } from "./event.ts";
import type { OutlinedEvent } from "./outline.ts";
import type { LogStore, Opening } from "./store.ts";

/** Few at first, so that who comes back has its next event soon; then as many as one read is worth. */
const firstBatch = 16;
const largestBatch = 256;

interface Wanted {
  readonly turnId: TurnId;
  readonly after: EventId;
}

/**
 * Every event of a turn after the cursor, live ones too, until the terminal one. Reads at the consumer's pace and holds at
 * most 256 events or 256 KiB of them, or one that is larger. Throws what `LogStore.readAfter` throws, and the signal's reason while it waits.
 */
export function readTurn(
  log: Pick<LogStore, "readAfter" | "untilPast">,
  { turnId, after, clientKey }: Wanted & Opening,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, void> {
  const read = (cursor: EventId, limit: number) => log.readAfter(turnId, cursor, { limit, clientKey });
  return readPages(read, (cursor) => log.untilPast(turnId, cursor, signal), after, signal);
}

/** As `readTurn`, for any turn, but without the content. */
export function readOutline(
  log: Pick<LogStore, "readOutlineAfter" | "untilPast">,
  { turnId, after }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<OutlinedEvent, void> {
  const read = (cursor: EventId, limit: number) => log.readOutlineAfter(turnId, cursor, { limit });
  return readPages(read, (cursor) => log.untilPast(turnId, cursor, signal), after, signal);
}

async function* readPages<E extends { readonly eventId: EventId }>(
  read: (cursor: EventId, limit: number) => Promise<{ readonly events: readonly E[]; readonly ended: boolean }>,
  untilPast: (cursor: EventId) => Promise<void>,
  after: EventId,
  signal: AbortSignal,
): AsyncGenerator<E, void> {
  let cursor = after;
  let limit = firstBatch;
  for (;;) {
    signal.throwIfAborted();
    const asked = limit;
    const { events, ended } = await read(cursor, asked);
    limit = Math.min(limit * 4, largestBatch);
    for (const event of events) {
      yield event; // suspends until the consumer has room
      cursor = event.eventId; // moves only once the consumer came back for more
    }
    if (ended) return; // also when `after` was already the last event
    if (events.length < asked) await untilPast(cursor);
  }
}
