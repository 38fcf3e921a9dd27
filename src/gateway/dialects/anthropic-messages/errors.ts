import { type ErrorKind, type ErrorRecord, rowOf } from "../../../base/errors.ts";
import type { WireError } from "../dialect.ts";
import {
  type FirstSentences,
  isFinal,
  messageOf,
  modelIn,
  resetAndDetails,
  retryHeaders,
  sizeIn,
  statusFor,
} from "../errors.ts";

const types: Readonly<Record<ErrorKind, string>> = {
  request: "invalid_request_error",
  permission: "permission_error",
  key: "authentication_error",
  model: "not_found_error",
  size: "invalid_request_error",
  quota: "rate_limit_error",
  rate: "rate_limit_error",
  upstream: "overloaded_error",
  timeout: "timeout_error",
  busy: "overloaded_error",
  fault: "api_error",
};

/** The API's own types of refusals of the whole request. */
const typesByStatus: Readonly<Record<number, string>> = { 404: "not_found_error", 413: "request_too_large" };

const says: FirstSentences = {
  model: (error) => `model: ${modelIn(error)}.`,
  size: (error) => {
    const { tokens, maximum } = sizeIn(error);
    return `prompt is too long: ${tokens} tokens > ${maximum} maximum.`;
  },
  rate: () => "This request would exceed your account's rate limit.",
  upstream: () => "Overloaded.",
  busy: () => "Overloaded.",
};

/**
 * An error as status, headers and body of the Messages API, with ours beside (`code`, `param`, `details`, `resets_at`). `refusal`: the status of a
 * request that was refused as a whole.
 */
export function encodeAnthropicError(
  error: ErrorRecord,
  requestId: string,
  refusal?: number,
): WireError & { readonly body: Readonly<Record<string, unknown>> } {
  const { kind, status, anthropicStatus = status } = rowOf(error);
  const finalType = kind === "quota" ? "billing_error" : types.request;
  const body = {
    type: "error",
    error: {
      type: typesByStatus[refusal ?? 0] ?? (isFinal(error) ? finalType : types[kind]),
      message: messageOf(error, says),
      code: error.code,
      hint: error.hint,
      ...(error.param === undefined ? {} : { param: error.param }),
      ...resetAndDetails(error),
    },
    request_id: requestId,
  };
  return { status: statusFor(error, anthropicStatus), headers: retryHeaders(error), body };
}
