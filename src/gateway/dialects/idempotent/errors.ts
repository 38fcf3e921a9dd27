import { Code, ConnectError } from "@connectrpc/connect";
import { type ErrorCode, type ErrorRecord, MillraceError } from "../../../base/errors.ts";
import { ErrorDetails_Error as E, ErrorDetailsSchema } from "../../../proto/aiserver/v1/chat_pb.ts";

/**
 * When another attach may help. Such an error carries no details, and details are the only sign on which an original client
 * stops. `begun`: another attach helps once the stream's request was accepted; before that the error is final.
 * Source: docs/dev/wire/idempotent-streams.md, "Client algorithm".
 */
type Passes = "always" | "begun" | "never";

interface Meaning {
  readonly connect: Code;
  readonly error: E;
  readonly passes: Passes;
}

/** Every code on this wire. Source: docs/dev/wire/idempotent-streams.md, "Error details". */
const meanings = {
  ide_not_running: { connect: Code.Unavailable, error: E.CUSTOM_MESSAGE, passes: "begun" },
  not_signed_in: { connect: Code.FailedPrecondition, error: E.NOT_LOGGED_IN, passes: "never" },
  consent_needed: { connect: Code.FailedPrecondition, error: E.CUSTOM_MESSAGE, passes: "never" },
  unauthenticated: { connect: Code.Unauthenticated, error: E.UNAUTHORIZED, passes: "never" },
  unknown_model: { connect: Code.NotFound, error: E.BAD_MODEL_NAME, passes: "never" },
  model_not_allowed: { connect: Code.PermissionDenied, error: E.BAD_MODEL_NAME, passes: "never" },
  quota_exhausted: { connect: Code.ResourceExhausted, error: E.PRO_USER_USAGE_LIMIT, passes: "never" },
  rate_limited: { connect: Code.ResourceExhausted, error: E.GENERIC_RATE_LIMIT_EXCEEDED, passes: "always" },
  context_too_long: { connect: Code.InvalidArgument, error: E.CONVERSATION_TOO_LONG, passes: "never" },
  invalid_request: { connect: Code.InvalidArgument, error: E.BAD_REQUEST, passes: "never" },
  idempotency_conflict: { connect: Code.AlreadyExists, error: E.BAD_REQUEST, passes: "never" },
  backend_retired: { connect: Code.FailedPrecondition, error: E.CUSTOM_MESSAGE, passes: "never" },
  upstream_failed: { connect: Code.Unavailable, error: E.CUSTOM_MESSAGE, passes: "begun" },
  upstream_timeout: { connect: Code.DeadlineExceeded, error: E.TIMEOUT, passes: "begun" },
  cancelled: { connect: Code.Canceled, error: E.USER_ABORTED_REQUEST, passes: "never" },
  degraded: { connect: Code.Unavailable, error: E.CUSTOM_MESSAGE, passes: "always" },
  unavailable: { connect: Code.Unavailable, error: E.CUSTOM_MESSAGE, passes: "always" },
  expired: { connect: Code.FailedPrecondition, error: E.NOT_FOUND, passes: "never" },
  internal: { connect: Code.Internal, error: E.CUSTOM_MESSAGE, passes: "never" },
} as const satisfies Record<ErrorCode, Meaning>;

/** The exact reasons why a stream is refused, finer than the codes. */
const reasons = {
  expired: { connect: Code.FailedPrecondition, error: E.NOT_FOUND, passes: "never" },
  diverged: { connect: Code.DataLoss, error: E.CUSTOM_MESSAGE, passes: "never" },
  superseded: { connect: Code.Aborted, error: E.CUSTOM_MESSAGE, passes: "never" },
  ticket_spent: { connect: Code.PermissionDenied, error: E.UNAUTHORIZED, passes: "never" },
  seqno_conflict: { connect: Code.AlreadyExists, error: E.BAD_REQUEST, passes: "never" },
  seqno_gap: { connect: Code.OutOfRange, error: E.BAD_REQUEST, passes: "never" },
  observer: { connect: Code.PermissionDenied, error: E.BAD_REQUEST, passes: "never" },
  too_many_streams: { connect: Code.ResourceExhausted, error: E.RESOURCE_EXHAUSTED, passes: "never" },
  foreign: { connect: Code.PermissionDenied, error: E.UNAUTHORIZED, passes: "never" },
  no_such_method: { connect: Code.Unimplemented, error: E.CUSTOM_MESSAGE, passes: "never" },
  needs_http2: { connect: Code.Unimplemented, error: E.CUSTOM_MESSAGE, passes: "never" },
  too_large: { connect: Code.ResourceExhausted, error: E.BAD_REQUEST, passes: "never" },
} as const satisfies Readonly<Record<string, Meaning>>;

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
  const { passes } = meaningOf(error);
  const toldAgain = error.repeated === true; // no prompt was sent, and another attach would hear the same
  return encode(error, toldAgain || passes === "never" || (passes === "begun" && !begun));
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
  const meaning = meaningOf(error);
  const wait: Record<string, string> =
    retryAfterMs === undefined ? {} : { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) };
  if (!final) return new ConnectError(message, meaning.connect, wait);
  const reason = reasonOf(error);
  const details = {
    error: meaning.error,
    isExpected: code !== "internal",
    details: {
      title: titleOf(message),
      detail: message,
      isRetryable: false,
      additionalInfo: { code, hint, ...(reason === undefined ? {} : { reason }) },
    },
  };
  return new ConnectError(message, meaning.connect, wait, [{ desc: ErrorDetailsSchema, value: details }]);
}

function meaningOf(error: ErrorRecord): Meaning {
  const reason = reasonOf(error);
  return reason === undefined ? meanings[error.code] : reasons[reason];
}

function reasonOf({ code, details }: ErrorRecord): Reason | undefined {
  if (code === "expired") return "expired";
  const reason = typeof details === "object" && details !== null ? Reflect.get(details, "reason") : undefined;
  return typeof reason === "string" && reason in reasons ? (reason as Reason) : undefined;
}

/** The first sentence. */
function titleOf(message: string): string {
  return /^.*?[.:](?=\s|$)/.exec(message)?.[0].replace(/[.:]$/, "") ?? message;
}
