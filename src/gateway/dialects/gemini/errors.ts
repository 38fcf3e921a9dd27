import type { ErrorRecord } from "../../../base/errors.ts";
import type { WireError } from "../dialect.ts";
import {
  type FirstSentences,
  isFinal,
  isLongRefusal,
  messageOf,
  modelIn,
  resetAndDetails,
  retryHeaders,
  sizeIn,
  statusFor,
} from "../errors.ts";

const says: FirstSentences = {
  model: (error) => `models/${modelIn(error)} is not found for API version v1beta.`,
  size: (error) => {
    const { tokens, maximum } = sizeIn(error);
    return `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${maximum}).`;
  },
  quota: () => "You exceeded your current quota, please check your plan and billing details.",
  rate: () => "Resource has been exhausted.",
  busy: () => "The model is overloaded.",
};

/** Google's names of statuses; another one is a wish that cannot be met. */
const googleStatuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "RESOURCE_EXHAUSTED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/**
 * An error as Google's APIs write it. `code`: the status, which the body repeats. `details` have our own code, and what Gemini CLI looks for:
 * a plan that is used up for the day, or a short wait.
 */
export function encodeGeminiError(error: ErrorRecord, requestId: string, code = statusFor(error)): WireError {
  const type = (name: string) => `type.googleapis.com/google.rpc.${name}`;
  const isLong = isLongRefusal(error);
  const wait = isLong || isFinal(error) ? undefined : error.retryAfterMs;
  const details = [
    { "@type": type("ErrorInfo"), reason: error.code.toUpperCase(), domain: "millrace" },
    ...(isLong ? [{ "@type": type("QuotaFailure"), violations: [{ quotaId: "RequestsPerDayPerPlan" }] }] : []),
    ...(wait === undefined
      ? []
      : [{ "@type": type("RetryInfo"), retryDelay: `${Math.max(1, Math.ceil(wait / 1000))}s` }]),
  ];
  const status = googleStatuses[code] ?? "FAILED_PRECONDITION";
  const millrace = { code: error.code, request_id: requestId, ...resetAndDetails(error) };
  const param = error.param === undefined ? {} : { param: error.param };
  const body = { error: { code, message: messageOf(error, says), status, details, ...param, millrace } };
  return { status: code, headers: retryHeaders(error), body };
}
