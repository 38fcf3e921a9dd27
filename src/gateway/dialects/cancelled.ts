import type { ErrorRecord } from "../../base/errors.ts";
import { MillraceError } from "../../base/errors.ts";
import type { CancelledBy } from "../../log/event.ts";

const why: Readonly<Record<CancelledBy, string>> = {
  client: "The turn was cancelled.",
  abandoned: "Nobody read the answer any more, so the turn was ended.",
  superseded: "A newer request of the same session ended this turn.",
  shutdown: "The gateway was stopped before the answer was complete.",
  ide: "The answer was cancelled inside the IDE.",
};

/** A cancelled turn as an error, for the APIs that know no other way to say that an answer is not complete. */
export function cancelledError(by: CancelledBy): ErrorRecord {
  return new MillraceError("cancelled", why[by]).toRecord();
}
