import { Code, ConnectError } from "@connectrpc/connect";
import { type ErrorCode, type ErrorRecord, MillraceError, reasonOf, rowOf } from "../../../base/errors.ts";
import { ErrorDetails_Error as E, ErrorDetailsSchema } from "../../../proto/aiserver/v1/chat_pb.ts";

/** An error on this wire: Connect's code, and the kind in its details. */
type Words = readonly [connect: Code, error: E];

/** Every code on this wire. Source: docs/dev/wire/idempotent-streams.md, "Error details". */
const words: Readonly<Record<ErrorCode, Words>> = {
  ide_not_running: [Code.Unavailable, E.CUSTOM_MESSAGE],
  not_signed_in: [Code.FailedPrecondition, E.NOT_LOGGED_IN],
  consent_needed: [Code.FailedPrecondition, E.CUSTOM_MESSAGE],
  unauthenticated: [Code.Unauthenticated, E.UNAUTHORIZED],
  unknown_model: [Code.NotFound, E.BAD_MODEL_NAME],
  model_not_allowed: [Code.PermissionDenied, E.BAD_MODEL_NAME],
  quota_exhausted: [Code.ResourceExhausted, E.PRO_USER_USAGE_LIMIT],
  rate_limited: [Code.ResourceExhausted, E.GENERIC_RATE_LIMIT_EXCEEDED],
  context_too_long: [Code.InvalidArgument, E.CONVERSATION_TOO_LONG],
  invalid_request: [Code.InvalidArgument, E.BAD_REQUEST],
  idempotency_conflict: [Code.AlreadyExists, E.BAD_REQUEST],
  backend_retired: [Code.FailedPrecondition, E.CUSTOM_MESSAGE],
  upstream_failed: [Code.Unavailable, E.CUSTOM_MESSAGE],
  upstream_timeout: [Code.DeadlineExceeded, E.TIMEOUT],
  cancelled: [Code.Canceled, E.USER_ABORTED_REQUEST],
  degraded: [Code.Unavailable, E.CUSTOM_MESSAGE],
  unavailable: [Code.Unavailable, E.CUSTOM_MESSAGE],
  expired: [Code.FailedPrecondition, E.NOT_FOUND],
  internal: [Code.Internal, E.CUSTOM_MESSAGE],
};

/** The exact reasons why a stream is refused, finer than the codes. No other attach helps. */
const reasons = {
  expired: words.expired,
  diverged: [Code.DataLoss, E.CUSTOM_MESSAGE],
  superseded: [Code.Aborted, E.CUSTOM_MESSAGE],
  ticket_spent: [Code.PermissionDenied, E.UNAUTHORIZED],
  seqno_conflict: [Code.AlreadyExists, E.BAD_REQUEST],
  seqno_gap: [Code.OutOfRange, E.BAD_REQUEST],
  observer: [Code.PermissionDenied, E.BAD_REQUEST],
  too_many_streams: [Code.ResourceExhausted, E.RESOURCE_EXHAUSTED],
  foreign: [Code.PermissionDenied, E.UNAUTHORIZED],
  no_such_method: [Code.Unimplemented, E.CUSTOM_MESSAGE],
  needs_http2: [Code.Unimplemented, E.CUSTOM_MESSAGE],
  too_large: [Code.ResourceExhausted, E.BAD_REQUEST],
} as const satisfies Readonly<Record<string, Words>>;

export type Reason = keyof typeof reasons;

/** An error with a reason of this protocol. */
export function refusal(
  code: ErrorCode,
  reason: Reason,
  message: string,
  { hint, retryAfterMs }: { readonly hint: string; readonly retryAfterMs?: number },
): MillraceError {
  return new MillraceError(code, message, {
    hint,
    details: { reason },
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** A refused call. `begun`: the stream has an accepted request. */
export function encodeRefusal(error: ErrorRecord, begun: boolean): ConnectError {
  const { repeat } = rowOf(error);
  const toldAgain = error.repeated === true; // no prompt was sent, and another attach would hear the same
  const helps = reasonIn(error) === undefined && (repeat === "soon" || (repeat !== undefined && begun));
  return encode(error, toldAgain || !helps);
}

/** The error that closes the call after a `stream_end` of an incomplete answer: another attach would only repeat that end. */
export function encodeFailedEnd(error: ErrorRecord): ConnectError {
  return encode(error, true);
}

/** The gateway stops, or the connection to the attach is gone: another attach mends it. */
export function encodeInterruption(message: string): ConnectError {
  return new ConnectError(message, Code.Unavailable);
}

function encode(error: ErrorRecord, final: boolean): ConnectError {
  const { message, code, hint, retryAfterMs } = error;
  const reason = reasonIn(error);
  const [connect, kind] = reason === undefined ? words[code] : reasons[reason];
  const wait: Record<string, string> =
    retryAfterMs === undefined ? {} : { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) };
  if (!final) return new ConnectError(message, connect, wait);
  const details = {
    error: kind,
    isExpected: code !== "internal",
    details: {
      title: titleOf(message),
      detail: message,
      isRetryable: false,
      additionalInfo: { code, hint, ...(reason === undefined ? {} : { reason }) },
    },
  };
  return new ConnectError(message, connect, wait, [{ desc: ErrorDetailsSchema, value: details }]);
}

function reasonIn(error: ErrorRecord): Reason | undefined {
  if (error.code === "expired") return "expired";
  const reason = reasonOf(error);
  return typeof reason === "string" && Object.hasOwn(reasons, reason) ? (reason as Reason) : undefined; // a key, as seen
}

/** The first sentence. */
function titleOf(message: string): string {
  return /^.*?[.:](?=\s|$)/.exec(message)?.[0].replace(/[.:]$/, "") ?? message;
}
