import { type ErrorCode, type ErrorRecord, unusableAnswer } from "../../base/errors.ts";

/** Longest wait that is announced: clients ignore longer ones and retry by their own, much shorter plan. */
const longestWaitSeconds = 60;

/** What gets no better by sending the same request again soon: an exhausted plan, a bug of ours, a turn that was ended. */
const notWorthRepeating: Readonly<Record<ErrorCode, boolean>> = {
  ide_not_running: false,
  not_signed_in: true,
  unauthenticated: true,
  unknown_model: true,
  model_not_allowed: true,
  quota_exhausted: true,
  rate_limited: false,
  context_too_long: true,
  invalid_request: true,
  idempotency_conflict: true,
  backend_retired: true,
  upstream_failed: false,
  upstream_timeout: false,
  cancelled: true,
  degraded: false,
  log_damaged: true,
  expired: true,
  internal: true,
};

/**
 * The status of an exhausted quota that is told again without asking. The first one is 429, as the vendors say it; some
 * clients (OpenCode, the Vercel AI SDK) repeat every 429 whatever its headers say, and stop at this one.
 */
export const repeatedQuotaStatus = 402;

/** Whether this is an exhausted quota that the client was told of before. */
export function isRepeatedQuota({ code, repeated }: ErrorRecord): boolean {
  return code === "quota_exhausted" && repeated === true;
}

/**
 * The status of an answer that stayed unusable: each repetition costs two more prompts, and clients repeat every 5xx and
 * every error event that sounds like overload (Claude Code three times), whatever the headers say. Source: client-contract row 58.
 */
export const unusableAnswerStatus = 422;

/** Whether the model was asked twice already and gave nothing that can be used. */
export function isUnusableAnswer({ code, details }: ErrorRecord): boolean {
  const reason = typeof details === "object" && details !== null && "reason" in details ? details.reason : undefined;
  return code === "upstream_failed" && reason === unusableAnswer;
}

/**
 * `retry-after` in whole seconds for a burst, `x-should-retry: false` where a repeat is in vain. An exhausted quota says
 * when it resets in the body only: a wait of days in a header is either ignored or slept through. Source: client-contract row 57.
 */
export function retryHeaders(error: ErrorRecord): Readonly<Record<string, string>> {
  if (notWorthRepeating[error.code] || isUnusableAnswer(error)) return { "x-should-retry": "false" };
  if (error.retryAfterMs === undefined) return {};
  const seconds = Math.min(longestWaitSeconds, Math.max(1, Math.ceil(error.retryAfterMs / 1000)));
  return { "retry-after": String(seconds) };
}
