import { type ErrorKind, type ErrorRecord, MillraceError, rowOf, stoppedInIde } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import type { CancelledBy } from "../../log/event.ts";
import type { AnswerEnd } from "./answer.ts";

/** Longest wait that is announced: clients ignore longer ones and retry by their own, much shorter plan. */
const longestWaitSeconds = 60;

/** The longest wait after which a client may repeat the request without its user; seconds. After a longer wait a person should read the error first. */
const patientSeconds = 10;

/** An API's own first sentences: programs look for them, to shorten a conversation for example. Source: docs/dev/wire/clients.md, "After an error". */
export type FirstSentences = Readonly<Partial<Record<ErrorKind, (error: ErrorRecord) => string>>>;

/**
 * The status of a failure after which no program may ask again without its user: programs repeat every 5xx and every error event that
 * sounds like overload, many of them although the headers forbid it, and some repeat a 422. Source: docs/clients.md, "After a failure".
 */
const finalFailureStatus = 400;

/** What the words of a final failure are replaced by: some programs repeat a request when they read the usual words, at any status. */
const plainWords: readonly (readonly [RegExp, string])[] = [
  [/\b(message )?rate[ -]?limit(?:ed|s)?\b/gi, "limit on messages"],
  [/\b(?:too many requests|overloaded|high demand)\b/gi, "much asked"],
  [/\binternal (?:server )?error\b/gi, "internal fault"],
  [/\bserver error\b/gi, "server fault"],
  [/\btry again (later|in)\b/gi, "ask again $1"],
  [/\bconnection (error|refused|lost)\b/gi, "link $1"],
  [/\b(?:timeout|timed out|time out)\b/gi, "too slow"],
  [/\bterminated\b/gi, "ended"],
  [/\bat capacity\b/gi, "fully used"],
];

/** The same statement in words on which no known client repeats a request. */
export function inPlainWords(text: string): string {
  return plainWords.reduce((said, [words, others]) => said.replace(words, others), text);
}

/** How large a prompt was, and how large it may be. `sizedError` gave them; no client sees the zeros. */
export function sizeIn({ details }: ErrorRecord): { readonly tokens: number; readonly maximum: number } {
  const { tokens, maximum } = isObject(details) ? details : {};
  return { tokens: Number(tokens ?? 0), maximum: Number(maximum ?? 0) };
}

/**
 * The error of a prompt that is too long, with its size: an agent says none, and clients compute from it how much to leave out. Where
 * the estimate would fit, the agent knows better.
 */
export function sizedError(error: ErrorRecord, tokens: number, maximum: number): ErrorRecord {
  const details = isObject(error.details) ? error.details : {};
  if (error.code !== "context_too_long" || typeof details["tokens"] === "number") return error;
  return { ...error, details: { ...details, tokens: Math.max(tokens, maximum + 1), maximum } };
}

/** The name of the model that the request asked for. */
export function modelIn({ details }: ErrorRecord): string {
  const asked = isObject(details) ? details["asked"] : undefined;
  return typeof asked === "string" ? asked : "that was asked for";
}

/** The text of an error: the API's own sentence, then what happened and what to do. A final one has no words on which programs repeat. */
export function messageOf(error: ErrorRecord, says: FirstSentences): string {
  const isEnd = isFinal(error);
  const first = isEnd && mayPass(error) ? undefined : says[rowOf(error).kind]?.(error);
  const text = [first, error.message, error.hint].filter((part) => part).join(" ");
  return isEnd ? inPlainWords(text) : text;
}

/** Whether the same request may succeed soon: the error is no used-up plan, no bug of ours, no turn that was ended, and no missing IDE. */
export function mayPass(error: ErrorRecord): boolean {
  const { repeat } = rowOf(error);
  return repeat === "soon" || repeat === "resume";
}

/**
 * The status of a failure that is repeated without a prompt. The first quota refusal is 429, as the vendors send it.
 * Some clients (OpenCode, the Vercel AI SDK) repeat every 429 and every 5xx and ignore `x-should-retry`; they stop at
 * these. Source: docs/clients.md, "After a failure".
 */
function toldAgainStatus({ code }: ErrorRecord): number {
  return code === "quota_exhausted" ? 402 : finalFailureStatus;
}

/** The status of a failure; `usual` is the API's for its code. */
export function statusFor(error: ErrorRecord, usual = rowOf(error).status): number {
  if (error.repeated === true || rowOf(error).isFinal) return toldAgainStatus(error);
  return error.final === true ? finalStatus(usual, error) : usual;
}

/** The status of a failure that is final from its first occurrence: a 4xx stays, unless clients repeat it. */
export function finalStatus(status: number, error: ErrorRecord): number {
  return status === 429 || status >= 500 ? toldAgainStatus(error) : status;
}

/** Whether no program may repeat the request by itself: most such repeats get no prompt, so they are in vain. */
export function isFinal(error: ErrorRecord): boolean {
  return error.final === true || error.repeated === true || rowOf(error).isFinal === true;
}

/** Whether the account is refused for longer than a client may wait without its user. */
export function isLongRefusal({ code, retryAfterMs }: ErrorRecord): boolean {
  if (code === "quota_exhausted") return true;
  return code === "rate_limited" && (retryAfterMs === undefined || retryAfterMs > patientSeconds * 1000);
}

/**
 * In place of a long `retry-after`, for libraries that read `retry-after-ms` first and do not know `x-should-retry` (the Vercel AI SDK):
 * they repeat after a second, get the failure told again without a prompt, and stop at its status. Else they sleep up to a minute.
 */
const toldSoon = { "x-should-retry": "false", "retry-after-ms": "1000" };

/**
 * `retry-after` in whole seconds for a burst, `x-should-retry: false` where a repeat is in vain or the wait is long. An exhausted quota says
 * when it resets in the body only: a wait of days in a header is either ignored or slept through. Source: docs/clients.md.
 */
export function retryHeaders(error: ErrorRecord): Readonly<Record<string, string>> {
  if (isFinal(error)) return { "x-should-retry": "false" };
  if (error.code === "quota_exhausted") return toldSoon;
  if (!mayPass(error)) return { "x-should-retry": "false" };
  if (error.retryAfterMs === undefined) return {};
  const seconds = Math.min(longestWaitSeconds, Math.max(1, Math.ceil(error.retryAfterMs / 1000)));
  return { "retry-after": String(seconds), ...(seconds <= patientSeconds ? { "x-should-retry": "true" } : toldSoon) };
}

/** The members of ours that an API's error may have beside its own: when a quota resets, and details (nearest models, a trace). */
export function resetAndDetails({ resetsAtMs, details }: ErrorRecord): Readonly<Record<string, unknown>> {
  return {
    ...(resetsAtMs === undefined ? {} : { resets_at: new Date(resetsAtMs).toISOString() }),
    ...(details === undefined ? {} : { details }),
  };
}

const whyCancelled: Readonly<Record<CancelledBy, string>> = {
  client: "The turn was cancelled.",
  abandoned: "No client was connected for the grace time, so the turn was ended.",
  superseded: "A newer request of the same session ended this turn.",
  shutdown: "The gateway was stopped before the answer was complete, and this answer cannot be continued.",
  ide: "The IDE or its agent stopped this answer: the stop button was pressed there, or it is closing.",
};

const askAnew = "Send the request again when the gateway is back. If it had an idempotency key, use a new one.";

/**
 * The error of an answer that is not complete. A cancelled turn is an error too, for the APIs that cannot say it in another way:
 * `cancelled` only where the client or its absence ended the turn. A client that cancelled nothing reads that the upstream failed.
 */
export function failureOf(end: Exclude<AnswerEnd, { readonly type: "finished" }>): ErrorRecord {
  if (end.type === "failed") return end.error;
  const isUpstream = end.by === "ide" || end.by === "shutdown";
  const more =
    end.by === "shutdown" ? { hint: askAnew } : end.by === "ide" ? { details: { reason: stoppedInIde } } : {};
  return new MillraceError(isUpstream ? "upstream_failed" : "cancelled", whyCancelled[end.by], more).toRecord();
}
