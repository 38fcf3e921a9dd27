import { MillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import type { TurnReading, TurnRecord } from "../../log/store.ts";
import type { JoinTurn, StartTurn } from "../turns.ts";

/** Throws `idempotency_conflict` when the turn that holds the request's key was started by another request. */
export function refuseConflict(asked: Pick<StartTurn, "fingerprint">, held: Pick<TurnRecord, "fingerprint">): void {
  if (held.fingerprint === asked.fingerprint) return;
  throw new MillraceError("idempotency_conflict", "This idempotency key was used for a different request.");
}

/** An earlier turn of the same caller with the same fingerprint. */
export interface Twin {
  readonly record: TurnRecord;
  /** Whether it has a reader now, as far as this process knows. */
  readonly beingRead: boolean;
}

/**
 * The earlier turn that a request without a key most likely repeats: same session, and either still running with no reader, or
 * finished while its reader was gone. A failed or cancelled turn never counts, since its repetition deserves another try. A turn whose
 * answer was delivered whole does not count either, since a client may ask the same question twice. A request marked as a retry joins
 * a running turn even if the turn seems to have a reader, or its reader seems to have its answer (the response object of one in the
 * background). Source: docs/wire/clients.md, "Silence and repeats".
 */
export function implicitTwin(
  asked: Pick<StartTurn, "session" | "retry">,
  twins: readonly Twin[],
): TurnRecord | undefined {
  return twins.find(({ record, beingRead }) => {
    if (record.session !== asked.session || record.idempotencyKey !== undefined) return false;
    const wanting = !record.delivered && !beingRead;
    if (record.ended) return record.outcome === "finished" && wanting;
    return record.cancelRequested === undefined && (wanting || asked.retry === true);
  })?.record;
}

/** Running turns that the request would join if they had no reader. */
export function twinsBeingRead(asked: Pick<StartTurn, "session">, twins: readonly Twin[]): readonly TurnRecord[] {
  return twins
    .filter(
      ({ record, beingRead }) => beingRead && !record.ended && implicitTwin(asked, [{ record, beingRead: false }]),
    )
    .map(({ record }) => record);
}

/** The earlier turns that a request may be a repetition of. */
export interface Twins {
  readonly twin?: TurnRecord;
  /** Those that it would join if their readers in this process left. */
  readonly beingRead: readonly TurnId[];
  /** Without a key: every turn of this caller and body, newest first, those with a key too. */
  readonly same: readonly TurnRecord[];
}

export interface TwinOptions {
  readonly store: Pick<TurnReading, "list">;
  /** Whether a repeated request without a key may join its twin. */
  readonly implicitJoins: boolean;
  readonly hasReader: (record: TurnRecord) => boolean;
  /** Whether a client of this process reads the turn. */
  readonly hasReaderHere: (record: TurnRecord) => boolean;
}

/** How many earlier turns with the same fingerprint are looked at for an implicit join. */
const twinsLookedAt = 8;

/** The turn that the request joins, and those that it would join if their readers in this process left. */
export async function twinsOf(
  asked: JoinTurn,
  { store, implicitJoins, hasReader, hasReaderHere }: TwinOptions,
): Promise<Twins> {
  const { caller, fingerprint, idempotencyKey } = asked;
  if (idempotencyKey !== undefined) {
    const [twin] = await store.list({ caller, idempotencyKey, limit: 1 });
    return { ...(twin && { twin }), beingRead: [], same: [] };
  }
  if (implicitJoins) await asked.settle?.();
  const records = await store.list({ caller, fingerprint, limit: twinsLookedAt });
  if (!implicitJoins) return { beingRead: [], same: records };
  const twins = records.map((record) => ({ record, beingRead: hasReader(record) }));
  const twin = implicitTwin(asked, twins);
  const beingRead = twinsBeingRead(asked, twins)
    .filter(hasReaderHere)
    .map(({ turnId }) => turnId);
  return { ...(twin && { twin }), beingRead, same: records };
}
