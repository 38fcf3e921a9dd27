import type { ErrorCode, ErrorRecord } from "../../../base/errors.ts";
import type { WireError } from "../dialect.ts";
import { isFinal, noIdeStatus, retryHeaders, statusFor } from "../retry-headers.ts";

interface AnthropicError {
  readonly status: number;
  readonly type: string;
}

/** The Messages API's form of every error code; its 529 means "try later". Source: docs/clients.md. */
const anthropicErrors: Readonly<Record<ErrorCode, AnthropicError>> = {
  ide_not_running: { status: noIdeStatus, type: "invalid_request_error" },
  not_signed_in: { status: 403, type: "permission_error" },
  consent_needed: { status: 403, type: "permission_error" },
  unauthenticated: { status: 401, type: "authentication_error" },
  unknown_model: { status: 404, type: "not_found_error" },
  model_not_allowed: { status: 403, type: "permission_error" },
  quota_exhausted: { status: 429, type: "rate_limit_error" },
  rate_limited: { status: 429, type: "rate_limit_error" },
  context_too_long: { status: 400, type: "invalid_request_error" },
  invalid_request: { status: 400, type: "invalid_request_error" },
  idempotency_conflict: { status: 422, type: "invalid_request_error" },
  backend_retired: { status: 403, type: "permission_error" },
  upstream_failed: { status: 529, type: "overloaded_error" },
  upstream_timeout: { status: 504, type: "timeout_error" },
  cancelled: { status: 499, type: "api_error" },
  degraded: { status: 503, type: "api_error" },
  unavailable: { status: 503, type: "overloaded_error" },
  expired: { status: 410, type: "invalid_request_error" },
  internal: { status: 500, type: "api_error" },
};

function wireOf(error: ErrorRecord): AnthropicError {
  const usual = anthropicErrors[error.code];
  if (!isFinal(error)) return usual;
  const type = error.code === "quota_exhausted" ? "billing_error" : "invalid_request_error";
  return { status: statusFor(usual.status, error), type };
}

/** An error as the Messages API writes it, with ours beside (`code`, `param`, `details`, `resets_at`). */
export function anthropicErrorBody(error: ErrorRecord, requestId: string): Readonly<Record<string, unknown>> {
  return {
    type: "error",
    error: {
      type: wireOf(error).type,
      message: `${error.message} ${error.hint}`,
      code: error.code,
      hint: error.hint,
      ...(error.param === undefined ? {} : { param: error.param }),
      ...(error.resetsAtMs === undefined ? {} : { resets_at: new Date(error.resetsAtMs).toISOString() }),
      ...(error.details === undefined ? {} : { details: error.details }),
    },
    request_id: requestId,
  };
}

/** An error as status, headers and body of the Messages API. */
export function encodeAnthropicError(error: ErrorRecord, requestId: string): WireError {
  return {
    status: wireOf(error).status,
    headers: retryHeaders(error),
    body: anthropicErrorBody(error, requestId),
  };
}
