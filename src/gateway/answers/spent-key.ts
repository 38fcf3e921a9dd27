import type { ErrorRecord } from "../../base/errors.ts";
import type { TurnEvent } from "../../log/event.ts";
import { seqOf } from "../../log/event-id.ts";
import { waitAfterFirst } from "../../turns/back-off.ts";

/** How a request has to do with an Idempotency-Key: whether its turn has one, and whether the request came under it again. */
export interface KeyUse {
  readonly isGiven: boolean;
  readonly isRepeat: boolean;
}

/**
 * A failure under an Idempotency-Key, with how to go on: the key gives this failure again and never a prompt, so "try again"
 * alone sends its reader in a circle. For a repeat under the key the failure is final.
 */
export function withSpentKey(error: ErrorRecord, { isGiven, isRepeat }: KeyUse): ErrorRecord {
  if (!isGiven) return error;
  const waitS = waitAfterFirst(error);
  const wait = waitS === 0 ? "" : ` after ${waitS} s`;
  const spent = "This Idempotency-Key is spent: it only gives this failure again.";
  const hint = `${error.hint} ${spent} Send the request with a new key, or without a key${wait}.`;
  return { ...error, hint, ...(isRepeat ? { final: true } : {}) };
}

/**
 * An event of a turn for its client. A failure also tells the client that its key is spent. A failure that is the first event of its
 * log spends no key: nothing was sent.
 */
export function tellSpentKey(event: TurnEvent, key: KeyUse): TurnEvent {
  if (event.type !== "failed" || seqOf(event.eventId) === 1) return event;
  return { ...event, error: withSpentKey(event.error, key) };
}
