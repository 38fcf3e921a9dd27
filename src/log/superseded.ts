import { MillraceError } from "../base/errors.ts";

/** The error of the older of two attaches of a stream. */
export function superseded(): MillraceError {
  return new MillraceError("cancelled", "A newer connection has taken this stream over.", {
    hint: "Continue there; this connection can only read.",
    details: { reason: "superseded" },
  });
}
