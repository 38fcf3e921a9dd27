import type { EventId, TurnId } from "../base/ids.ts";
import { startOfLog } from "../base/ids.ts";
import type { TurnEvent } from "./event.ts";
import type { LogStore } from "./store.ts";

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
