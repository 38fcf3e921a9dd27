import type { ErrorRecord } from "../../base/errors.ts";
import { MillraceError } from "../../base/errors.ts";
import type { CancelledBy } from "../../log/event.ts";

const why: Readonly<Record<CancelledBy, string>> = {
  client: "The turn was cancelled.",
  abandoned: "No client was connected for the grace time, so the turn was ended.",
  superseded: "A newer request of the same session ended this turn.",
  shutdown: "The gateway was stopped before the answer was complete, and this answer cannot be continued.",
  ide: "The IDE stopped this answer: the stop button was pressed there, or the IDE is closing.",
};

const askAnew = "Send the request again when the gateway is back. If it had an idempotency key, use a new one.";

/**
 * A cancelled turn as an error, for the APIs that cannot say in another way that an answer is not complete. `cancelled` only
 * where the client or its absence ended the turn: a client that cancelled nothing reads that the upstream failed.
 */
export function cancelledError(by: CancelledBy): ErrorRecord {
  const isUpstream = by === "ide" || by === "shutdown";
  const hint = by === "shutdown" ? { hint: askAnew } : {};
  return new MillraceError(isUpstream ? "upstream_failed" : "cancelled", why[by], hint).toRecord();
}
