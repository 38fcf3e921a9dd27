import { MillraceError } from "../../../base/errors.ts";
import { eventIdOf } from "../../../log/event.ts";

/** The cursor before the first event of a stream. Source: docs/dev/wire/idempotent-streams.md, "Headers". */
export const beforeFirst = "0";

/**
 * The id of a chunk: which turn of the stream (from 1), which event of that turn, and, where one event becomes several
 * chunks, which of them (from 0). Ids compare as text in the order of the chunks.
 */
export function chunkId(segment: number, eventId: string, part: number): string {
  const id = `${eventIdOf(segment)}.${eventId}`;
  return part === 0 ? id : `${id}.${eventIdOf(part)}`;
}

/** The id of an end that no turn has: after everything of the turns up to `segment`. */
export function endId(segment: number): string {
  return `${eventIdOf(segment + 1)}.${beforeFirst}`;
}

const id = /^[a-p][1-9]\d{0,15}\.(?:0|[a-p][1-9]\d{0,15}(?:-[1-9]\d{0,8})?(?:\.[a-p][1-9]\d{0,15})?)$/;

/** A cursor as a client sends it; whether there is such an event is another question. Throws `invalid_request`. */
export function parseEventId(text: string): string {
  if (text === beforeFirst || id.test(text)) return text;
  throw new MillraceError("invalid_request", "x-idempotency-event-id is not an event id of this gateway.", {
    param: "x-idempotency-event-id",
    hint: 'Send back the id of the last event that was applied, or "0" to read from the start.',
  });
}
