import { type EventId, startOfLog, type TurnId } from "../../base/ids.ts";
import { seqIn } from "../../log/event.ts";
import type { TurnRecord } from "../../log/store.ts";

/** The position of a reader in a dialect's stream: its last wire event, as its turn, log event and place in that event's group. */
export interface WireCursor {
  readonly turnId: TurnId;
  readonly eventId: EventId;
  readonly part: number;
}

/** The `id:` of a wire event. An event before the first log event carries the start of the log. */
export function writeCursor(turnId: TurnId, eventId: EventId | undefined, part: number): string {
  return `${turnId}:${eventId ?? startOfLog}:${part}`;
}

/** A `Last-Event-ID` that we wrote; undefined for any other text. */
export function parseCursor(text: string): WireCursor | undefined {
  const match = /^(turn_[0-9a-z]{26}):([^:\s]{1,100}):(\d{1,6})$/.exec(text.trim());
  if (match === null) return undefined;
  return { turnId: match[1] as TurnId, eventId: match[2] as EventId, part: Number(match[3]) }; // the forms that writeCursor gives
}

/**
 * Parses an event id that a reader sent back. `param` is its place in the request.
 *
 * @throws MillraceError `invalid_request` for an event that this turn's log does not hold. The reader is not moved to the end
 * instead, because that would look like a finished answer. Source: docs/dev/wire/idempotent-streams.md, "What a server must do".
 */
export function handedOut(text: string, record: Pick<TurnRecord, "lastEventId" | "claims">, param: string): EventId {
  const hint = `Read the answer from its start: ${param === "after" ? "send 0" : "leave it out"}.`;
  seqIn(record, text, { param, hint });
  return text as EventId; // the log gave it out
}

/** Whether the cursor's reader already has this wire event. Event ids sort as text. */
export function isBefore(eventId: EventId | undefined, part: number, cursor: WireCursor): boolean {
  const id = eventId ?? startOfLog;
  return id < cursor.eventId || (id === cursor.eventId && part <= cursor.part);
}
