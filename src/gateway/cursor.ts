import { type EventId, startOfLog, type TurnId } from "../base/ids.ts";

/** Where a reader of a dialect's stream stands: the last wire event it got, as its turn, log event and place in that event's group. */
export interface WireCursor {
  readonly turnId: TurnId;
  readonly eventId: EventId;
  readonly part: number;
}

/** The `id:` of a wire event. What comes before the first log event has the start of the log as its event. */
export function writeCursor(turnId: TurnId, eventId: EventId | undefined, part: number): string {
  return `${turnId}:${eventId ?? startOfLog}:${part}`;
}

/** A `Last-Event-ID` that we wrote; undefined for any other text. */
export function parseCursor(text: string): WireCursor | undefined {
  const match = /^(turn_[0-9a-z]{26}):([^:\s]{1,100}):(\d{1,6})$/.exec(text.trim());
  if (match === null) return undefined;
  return { turnId: match[1] as TurnId, eventId: match[2] as EventId, part: Number(match[3]) }; // the forms that writeCursor gives
}

/** Whether the cursor's reader already has this wire event. Event ids sort as text. */
export function isBefore(eventId: EventId | undefined, part: number, cursor: WireCursor): boolean {
  const id = eventId ?? startOfLog;
  return id < cursor.eventId || (id === cursor.eventId && part <= cursor.part);
}
