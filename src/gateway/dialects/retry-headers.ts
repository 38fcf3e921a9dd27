import { type ErrorCode, type ErrorRecord, lostPrompt, reasonOf, unusableAnswer } from "../../base/errors.ts";

/** Longest wait that is announced: clients ignore longer ones and retry by their own, much shorter plan. */
const longestWaitSeconds = 60;

/** The longest wait after which a client may repeat the request without its user; seconds. After a longer wait a person should read the error first. */
const patientSeconds = 10;

/** Errors that repeating the same request soon cannot solve: an exhausted plan, a bug of ours, a turn that was ended, no IDE. */
const notWorthRepeating: Readonly<Record<ErrorCode, boolean>> = {
  ide_not_running: true,
  not_signed_in: true,
  consent_needed: true,
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
  unavailable: false,
  expired: true,
  internal: true,
};

/**
 * The status of a failure that is repeated without a prompt. The first quota refusal is 429, as the vendors send it.
 * Some clients (OpenCode, the Vercel AI SDK) repeat every 429 and every 5xx and ignore `x-should-retry`; they stop at
 * these. Source: docs/clients.md, "After a failure".
 */
function toldAgainStatus({ code }: ErrorRecord): number {
  return code === "quota_exhausted" ? 402 : unusableAnswerStatus;
}

/** The status of a failure; `usual` is the status of its code. */
export function statusFor(usual: number, error: ErrorRecord): number {
  if (error.repeated === true || isUnusableAnswer(error)) return toldAgainStatus(error);
  return error.final === true ? finalStatus(usual, error) : usual;
}

/** Whether the same request gets no prompt if it comes again now. A client that repeats it is in vain. */
export function isFinal(error: ErrorRecord): boolean {
  return error.final === true || error.repeated === true || isUnusableAnswer(error);
}

/** Whether the account is refused for longer than a client may wait without its user. */
export function isLongRefusal({ code, retryAfterMs }: ErrorRecord): boolean {
  if (code === "quota_exhausted") return true;
  return code === "rate_limited" && (retryAfterMs === undefined || retryAfterMs > patientSeconds * 1000);
}

/** The status of a failure that is final from its first occurrence: a 4xx stays, unless clients repeat it. */
export function finalStatus(status: number, error: ErrorRecord): number {
  return status === 429 || status >= 500 ? toldAgainStatus(error) : status;
}

/**
 * The status of a missing IDE. A 503 made six clients retry for 20 to 400 seconds, most of them without a message. The
 * gateway has just looked, so a client that retries at once finds the same. Source: docs/clients.md.
 */
export const noIdeStatus = 424;

/**
 * The status of an answer that stayed unusable: each repetition costs two more prompts, and clients repeat every 5xx and
 * every error event that sounds like overload (Claude Code three times), even if the headers forbid it. Source: docs/clients.md.
 */
const unusableAnswerStatus = 422;

/** Whether the model was asked twice already and gave nothing that can be used. */
function isUnusableAnswer(error: ErrorRecord): boolean {
  return error.code === "upstream_failed" && reasonOf(error) === unusableAnswer;
}

/** Whether the gateway has looked for seconds for a prompt that did not arrive. */
export function isLostPrompt(error: ErrorRecord): boolean {
  return error.code === "upstream_failed" && reasonOf(error) === lostPrompt;
}

/**
 * `retry-after` in whole seconds for a burst, `x-should-retry: false` where a repeat is in vain or the wait is long. An exhausted quota says
 * when it resets in the body only: a wait of days in a header is either ignored or slept through. Source: docs/clients.md.
 */
export function retryHeaders(error: ErrorRecord): Readonly<Record<string, string>> {
  if (notWorthRepeating[error.code] || isFinal(error)) return { "x-should-retry": "false" };
  if (error.retryAfterMs === undefined) return {};
  const seconds = Math.min(longestWaitSeconds, Math.max(1, Math.ceil(error.retryAfterMs / 1000)));
  return { "retry-after": String(seconds), "x-should-retry": String(seconds <= patientSeconds) };
}
