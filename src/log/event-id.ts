import { MillraceError } from "../base/errors.ts";
import { type EventId, startOfLog } from "../base/ids.ts";

const firstLength = "a".charCodeAt(0);

/**
 * The id of the `seq`-th event of a turn (from 1): its decimal digits after a letter that says how many they are (`a1`,
 * `b10`, `c100`), so that ids sort as text the way they sort as numbers, with no padding. `0` is `startOfLog`.
 */
export function eventIdOf(seq: number): EventId {
  if (seq === 0) return startOfLog;
  const digits = String(seq);
  return (String.fromCharCode(firstLength + digits.length - 1) + digits) as EventId; // the one place that makes them
}

/** The number behind an id. Throws `invalid_request` for text that `eventIdOf` never makes. */
export function seqOf(eventId: string): number {
  if (eventId === startOfLog) return 0;
  const seq = Number(eventId.slice(1));
  if (!/^[a-p][1-9]\d*$/.test(eventId) || !Number.isSafeInteger(seq) || eventIdOf(seq) !== eventId) {
    throw new MillraceError("invalid_request", "The cursor is not an event id of this gateway.", {
      hint: 'Send back an event id as it was received, or "0" to read from the start.',
    });
  }
  return seq;
}
