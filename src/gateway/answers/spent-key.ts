import type { ErrorRecord } from "../../base/errors.ts";
import type { TurnEvent } from "../../log/event.ts";
import type { TurnRecord } from "../../log/store.ts";
import { waitAfterFirst } from "../../turns/start/repeats.ts";

/**
 * A failure under an Idempotency-Key, with how to go on: the key gives this failure again and never a prompt, so "try again"
 * alone sends its reader in a circle. The same for every reader of the turn.
 */
export function withSpentKey(error: ErrorRecord, record: Pick<TurnRecord, "idempotencyKey"> | undefined): ErrorRecord {
  if (record?.idempotencyKey === undefined) return error;
  const waitS = waitAfterFirst(error);
  const wait = waitS === 0 ? "" : ` after ${waitS} s`;
  const spent = "This Idempotency-Key is spent: it only gives this failure again.";
  const hint = `${error.hint} ${spent} To go on, send the request with a new key, or without a key${wait}.`;
  return { ...error, hint };
}

/** The events of a turn for the client that asked; a failure says that its key is spent. */
export async function* tellingSpentKey(
  events: AsyncGenerator<TurnEvent, void>,
  record: Pick<TurnRecord, "idempotencyKey"> | undefined,
): AsyncGenerator<TurnEvent, void> {
  for await (const event of events)
    yield event.type === "failed" ? { ...event, error: withSpentKey(event.error, record) } : event;
}
