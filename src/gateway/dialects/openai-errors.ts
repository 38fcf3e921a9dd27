import type { ErrorCode, ErrorRecord } from "../../base/errors.ts";
import type { WireError } from "./dialect.ts";
import { isFinal, noIdeStatus, retryHeaders, statusFor } from "./retry-headers.ts";

interface OpenAiError {
  readonly status: number;
  readonly type: string;
  readonly code: string;
}

/** The OpenAI form of every error code. An error that waiting cannot solve is a 4xx. Source: docs/clients.md. */
export const openAiErrors: Readonly<Record<ErrorCode, OpenAiError>> = {
  ide_not_running: { status: noIdeStatus, type: "invalid_request_error", code: "ide_not_running" },
  not_signed_in: { status: 403, type: "permission_error", code: "not_signed_in" },
  consent_needed: { status: 403, type: "permission_error", code: "consent_needed" },
  unauthenticated: { status: 401, type: "authentication_error", code: "invalid_api_key" },
  unknown_model: { status: 404, type: "invalid_request_error", code: "model_not_found" },
  model_not_allowed: { status: 403, type: "permission_error", code: "model_not_allowed" },
  quota_exhausted: { status: 429, type: "insufficient_quota", code: "insufficient_quota" },
  rate_limited: { status: 429, type: "rate_limit_error", code: "rate_limit_exceeded" },
  context_too_long: { status: 400, type: "invalid_request_error", code: "context_length_exceeded" },
  invalid_request: { status: 400, type: "invalid_request_error", code: "invalid_request" },
  idempotency_conflict: { status: 422, type: "invalid_request_error", code: "idempotency_conflict" },
  backend_retired: { status: 403, type: "permission_error", code: "backend_retired" },
  upstream_failed: { status: 502, type: "server_error", code: "upstream_failed" },
  upstream_timeout: { status: 504, type: "server_error", code: "upstream_timeout" },
  cancelled: { status: 499, type: "server_error", code: "cancelled" },
  degraded: { status: 503, type: "server_error", code: "degraded" },
  unavailable: { status: 503, type: "server_error", code: "unavailable" },
  expired: { status: 410, type: "invalid_request_error", code: "expired" },
  internal: { status: 500, type: "server_error", code: "internal" },
};

/**
 * The `error` member of an OpenAI error: the members that the SDKs read, and ours beside them: the hint, our own code, the time when a
 * quota resets, and details (nearest models, the places where discovery looked).
 */
export function openAiErrorBody(error: ErrorRecord, requestId: string): Readonly<Record<string, unknown>> {
  const { type, code } = openAiErrors[error.code];
  return {
    message: `${error.message} ${error.hint}`,
    type: typeOf(error, type),
    param: error.param ?? null,
    code,
    request_id: requestId,
    hint: error.hint,
    millrace: { code: error.code, message: error.message },
    ...(error.resetsAtMs === undefined ? {} : { resets_at: new Date(error.resetsAtMs).toISOString() }),
    ...(error.details === undefined ? {} : { details: error.details }),
  };
}

/** A type that sounds like a passing trouble makes some clients repeat the request. */
function typeOf(error: ErrorRecord, type: string): string {
  return isFinal(error) && error.code !== "quota_exhausted" ? "invalid_request_error" : type;
}

/** An error as status, headers and body, for Chat Completions, Completions, Responses and every route outside the APIs. */
export function encodeOpenAiError(error: ErrorRecord, requestId: string): WireError {
  return {
    status: statusFor(openAiErrors[error.code].status, error),
    headers: retryHeaders(error),
    body: { error: openAiErrorBody(error, requestId) },
  };
}
