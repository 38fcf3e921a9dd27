import { MillraceError } from "../base/errors.ts";

/** What the older of two attaches of a stream is told: a newer one writes to it. */
export function superseded(): MillraceError {
  return new MillraceError("cancelled", "A newer connection has taken this stream over.", {
    hint: "Go on there; this connection can only read.",
    details: { reason: "superseded" },
  });
}
