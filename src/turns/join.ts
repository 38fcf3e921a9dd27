import { MillraceError } from "../base/errors.ts";
import type { TurnRecord } from "../log/store.ts";
import type { StartTurn } from "./turns.ts";

/** Throws `idempotency_conflict` when the turn that holds the request's key was started by another request. */
export function refuseConflict(asked: Pick<StartTurn, "fingerprint">, held: Pick<TurnRecord, "fingerprint">): void {
  if (held.fingerprint === asked.fingerprint) return;
  throw new MillraceError("idempotency_conflict", "This idempotency key was used for a different request.");
}

/** What is known of an earlier turn of the same caller with the same fingerprint. */
export interface Twin {
  readonly record: TurnRecord;
  /** Whether a reader of it is there now, as far as this process can tell. */
  readonly attended: boolean;
}

/**
 * The earlier turn that a request without a key is most likely a repetition of: same session, and either still running
 * with no reader, or finished while its reader was gone. Never one that failed or was cancelled (its repetition deserves
 * another try), nor one whose answer was delivered whole: asking the same thing twice is a right. A request that says it
 * is a retry joins a running turn although its reader seems to be there, or seems to have what it asked for (the response
 * object of one in the background). Source: design.md, decision 11.
 */
export function implicitTwin(
  asked: Pick<StartTurn, "session" | "retry">,
  twins: readonly Twin[],
): TurnRecord | undefined {
  return twins.find(({ record, attended }) => {
    if (record.session !== asked.session || record.idempotencyKey !== undefined) return false;
    const wanting = !record.delivered && !attended;
    if (record.ended) return record.outcome === "finished" && wanting;
    return record.cancelRequested === undefined && (wanting || asked.retry === true);
  })?.record;
}

/** Running turns that the request would join, were it not that somebody seems to read them. */
export function attendedTwins(asked: Pick<StartTurn, "session">, twins: readonly Twin[]): readonly TurnRecord[] {
  return twins
    .filter(({ record, attended }) => attended && !record.ended && implicitTwin(asked, [{ record, attended: false }]))
    .map(({ record }) => record);
}
