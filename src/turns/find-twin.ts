import { isDegraded } from "../base/errors.ts";
import { startOfLog } from "../base/ids.ts";
import { seqOf } from "../log/event.ts";
import type { TurnLabel, TurnRecord } from "../log/store.ts";
import type { TurnsOptions } from "./options.ts";
import type { Readers } from "./readers.ts";
import type { RequestIdentity } from "./turns.ts";
import { failedUnsent, implicitTwin, type Twin, twinsBeingRead } from "./twins.ts";

/** How many earlier turns with the same fingerprint are looked at for an implicit join. */
const twinsLookedAt = 8;

type Parts = Pick<TurnsOptions, "store" | "implicitJoins" | "owner"> & { readonly readers: Readers };

/**
 * The turn that the request joins, by its key or as its twin; undefined if it starts one, or if its twin's request cannot be read and it has
 * no key.
 */
export async function findTwin(
  parts: Parts,
  asked: RequestIdentity,
  signal: AbortSignal,
): Promise<TurnRecord | undefined> {
  const twin = await twinOf(parts, asked, signal);
  return twin && (await whole(parts, twin));
}

/**
 * When a connection breaks, the client's repeated request may be handled before the broken connection is noticed. So if only a reader
 * prevents the join, the repeat waits a moment.
 */
async function twinOf(parts: Parts, asked: RequestIdentity, signal: AbortSignal): Promise<TurnLabel | undefined> {
  const { store, implicitJoins, readers, owner } = parts;
  const { caller, fingerprint, idempotencyKey } = asked;
  if (idempotencyKey !== undefined) {
    const [held] = await store.list({ caller, idempotencyKey, limit: 1 });
    if (held === undefined || held.fingerprint !== fingerprint || !(await isUnsent(parts, held))) return held;
    await store.remove(held.turnId); // by its id, so it removes no turn that another repeat has started since
    return undefined;
  }
  if (!implicitJoins) return undefined;
  const twins = await twinsOf(parts, asked);
  const twin = implicitTwin(asked, twins);
  const readHere = twinsBeingRead(asked, twins).filter((each) => each.owner === owner && readers.has(each.turnId));
  if (twin !== undefined || readHere.length === 0) return twin;
  await readers.untilOneIsUnread(
    readHere.map(({ turnId }) => turnId),
    signal,
  );
  return implicitTwin(asked, await twinsOf(parts, asked));
}

/** The turn with its request; undefined if it has no key and its request cannot be read, so that it can only be asked again. */
async function whole({ store }: Parts, { turnId, idempotencyKey }: TurnLabel): Promise<TurnRecord | undefined> {
  try {
    return await store.get(turnId);
  } catch (error) {
    if (idempotencyKey !== undefined || isDegraded(error)) throw error;
    return undefined;
  }
}

/** Whether the turn failed before its prompt was sent. */
async function isUnsent({ store }: Parts, { turnId, outcome, lastEventId }: TurnLabel): Promise<boolean> {
  const seq = seqOf(lastEventId);
  if (outcome !== "failed" || seq > 2) return false;
  if (seq === 1) return true;
  try {
    const { events } = await store.readAfter(turnId, startOfLog, { limit: 2 });
    return events.some(failedUnsent);
  } catch {
    // another repeat has just removed it; else it cannot be read here, and may have been prompted
    return (await store.getLabel(turnId)) === undefined;
  }
}

async function twinsOf({ store, readers }: Parts, { caller, fingerprint }: RequestIdentity): Promise<readonly Twin[]> {
  const records = await store.list({ caller, fingerprint, limit: twinsLookedAt });
  return records.map((record) => ({ record, beingRead: readers.isRead(record) }));
}
