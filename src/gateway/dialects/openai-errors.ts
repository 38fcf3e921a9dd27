import { type ErrorKind, type ErrorRecord, rowOf } from "../../base/errors.ts";
import type { WireError } from "./dialect.ts";
import {
  type FirstSentences,
  isFinal,
  mayPass,
  messageOf,
  modelIn,
  resetAndDetails,
  retryHeaders,
  sizeIn,
  statusFor,
} from "./errors.ts";

const invalid = "invalid_request_error";
const fault = { type: "server_error" };

/** The OpenAI APIs' types, and their own names of our codes. */
const forms: Readonly<Record<ErrorKind, { readonly type: string; readonly code?: string }>> = {
  request: { type: invalid },
  permission: { type: "permission_error" },
  key: { type: "authentication_error", code: "invalid_api_key" },
  model: { type: invalid, code: "model_not_found" },
  size: { type: invalid, code: "context_length_exceeded" },
  quota: { type: "insufficient_quota", code: "insufficient_quota" },
  rate: { type: "rate_limit_error", code: "rate_limit_exceeded" },
  upstream: fault,
  timeout: fault,
  busy: fault,
  fault,
};

const says: FirstSentences = {
  model: (error) => `The model \`${modelIn(error)}\` does not exist or you do not have access to it.`,
  size: (error) => {
    const { tokens, maximum } = sizeIn(error);
    return `This model's maximum context length is ${maximum} tokens. However, your messages resulted in ${tokens} tokens.`;
  },
  quota: () => "You exceeded your current quota, please check your plan and billing details.",
  rate: () => "Rate limit reached.",
  busy: () => "The server is overloaded.",
};

/**
 * An error as status, headers and body, for Chat Completions, Responses and every route outside the APIs: the members that the SDKs read,
 * and ours beside them.
 */
export function encodeOpenAiError(
  error: ErrorRecord,
  requestId: string,
): WireError & { readonly body: { readonly error: Readonly<Record<string, unknown>> } } {
  const { type, code = error.code } = forms[rowOf(error).kind];
  const isEnd = isFinal(error);
  const body = {
    message: messageOf(error, says),
    type: isEnd && error.code !== "quota_exhausted" ? invalid : type, // some clients repeat on a type of passing trouble
    param: error.param ?? null,
    code: isEnd && mayPass(error) ? error.code : code,
    request_id: requestId,
    hint: error.hint,
    millrace: { code: error.code, message: error.message },
    ...resetAndDetails(error),
  };
  return { status: statusFor(error), headers: retryHeaders(error), body: { error: body } };
}
