import { isMillraceError, MillraceError } from "../base/errors.ts";

const unknownMessage = "There is no such turn.";

/** The error for a turn that is not there, or is there for another caller or key. */
export function unknownTurn(): MillraceError {
  return new MillraceError("invalid_request", unknownMessage, {
    hint: "Check the turn's id; `GET /v1/turns` lists the turns that are kept.",
  });
}

export function isUnknownTurn(error: unknown): boolean {
  return isMillraceError(error) && error.message === unknownMessage;
}

export function expiredTurn(): MillraceError {
  return new MillraceError("expired", "The answer to this request is no longer kept.");
}

/** The error for a log whose bytes are not those that were written. None of it is shown. */
export function damagedLog(cause?: unknown): MillraceError {
  return new MillraceError("internal", "The stored answer was changed or damaged, so it is not shown.", {
    hint: "Send the request again under a new idempotency key.",
    cause,
  });
}

export function pastTheEnd(): MillraceError {
  return new MillraceError("invalid_request", "The cursor is beyond the last event of this turn.", {
    hint: 'Send back the id of an event that this turn sent, or "0" to read from the start.',
  });
}

/** The error for a request with an idempotency key while nothing can be stored: without a stored turn it could be asked twice. */
export function notStored(cause: MillraceError): MillraceError {
  return new MillraceError("unavailable", `The turn cannot be stored, so no prompt was sent. ${cause.message}`, {
    hint: `${cause.hint} Then send the request again. Without an idempotency key it is answered now, from memory.`,
    retryAfterMs: 1_000,
    cause,
  });
}

/** The error of the older of two attaches of a stream. */
export function superseded(): MillraceError {
  return new MillraceError("cancelled", "A newer connection has taken this stream over.", {
    hint: "Continue there; this connection can only read.",
    details: { reason: "superseded" },
  });
}
