import {
  type ErrorCode,
  type ErrorRecord,
  lostPrompt,
  MillraceError,
  reasonOf,
  stoppedInIde,
  unusableAnswer,
} from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import type { CancelledBy } from "../../log/event.ts";
import type { AnswerEnd } from "./answer.ts";
import type { WireError } from "./dialect.ts";

/** Longest wait that is announced: clients ignore longer ones and retry by their own, much shorter plan. */
const longestWaitSeconds = 60;

/** The longest wait after which a client may repeat the request without its user; seconds. After a longer wait a person should read the error first. */
const patientSeconds = 10;

/** The APIs that have words of their own for an error. */
type Api = "openAi" | "anthropic" | "ollama" | "gemini";

/** How an error code is written. The members that begin with `anthropic` are set only where that API differs from OpenAI's. */
interface WireForm {
  readonly status: number;
  readonly type: string;
  /** The OpenAI APIs' own name of the code. */
  readonly openAiCode?: string;
  readonly anthropicStatus?: number;
  readonly anthropicType?: string;
  /** Repeating the same request soon may solve it. Else it is an exhausted plan, a bug of ours, a turn that was ended, or no IDE. */
  readonly passes?: true;
  /** The API's own first sentence: programs look for it, to shorten a conversation for example. Source: docs/dev/wire/clients.md, "After an error". */
  readonly says?: Readonly<Partial<Record<Api, (error: ErrorRecord) => string>>>;
}

const says = (text: string) => () => text;

const tooLong = {
  openAi: (error: ErrorRecord) => {
    const { tokens, maximum } = sizeIn(error);
    return `This model's maximum context length is ${maximum} tokens. However, your messages resulted in ${tokens} tokens.`;
  },
  anthropic: (error: ErrorRecord) => {
    const { tokens, maximum } = sizeIn(error);
    return `prompt is too long: ${tokens} tokens > ${maximum} maximum.`;
  },
  ollama: says("The input length exceeds the context length."),
  gemini: (error: ErrorRecord) => {
    const { tokens, maximum } = sizeIn(error);
    return `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${maximum}).`;
  },
};

const notFound = {
  openAi: (error: ErrorRecord) => `The model \`${modelIn(error)}\` does not exist or you do not have access to it.`,
  anthropic: (error: ErrorRecord) => `model: ${modelIn(error)}.`,
  ollama: (error: ErrorRecord) => `model '${modelIn(error)}' not found.`,
  gemini: (error: ErrorRecord) => `models/${modelIn(error)} is not found for API version v1beta.`,
};

const exceeded = says("You exceeded your current quota, please check your plan and billing details.");

const limited = {
  openAi: says("Rate limit reached."),
  anthropic: says("This request would exceed your account's rate limit."),
  gemini: says("Resource has been exhausted."),
};

const invalid = "invalid_request_error";
const denied = { status: 403, type: "permission_error" } as const;

/**
 * Every error code in the OpenAI APIs and in Anthropic's. An error that waiting cannot solve is a 4xx. Source: docs/clients.md.
 *
 * - A 503 for a missing IDE made six clients retry for 20 to 400 seconds, most of them without a message. The gateway has just looked,
 *   so a client that retries at once finds the same: 424.
 * - Anthropic's 529 means "try later".
 */
const wireForms: Readonly<Record<ErrorCode, WireForm>> = {
  ide_not_running: { status: 424, type: invalid },
  not_signed_in: denied,
  consent_needed: denied,
  unauthenticated: { status: 401, type: "authentication_error", openAiCode: "invalid_api_key" },
  unknown_model: {
    status: 404,
    type: invalid,
    openAiCode: "model_not_found",
    anthropicType: "not_found_error",
    says: notFound,
  },
  model_not_allowed: denied,
  quota_exhausted: {
    status: 429,
    type: "insufficient_quota",
    openAiCode: "insufficient_quota",
    anthropicType: "rate_limit_error",
    says: { openAi: exceeded, gemini: exceeded },
  },
  rate_limited: {
    status: 429,
    type: "rate_limit_error",
    openAiCode: "rate_limit_exceeded",
    passes: true,
    says: limited,
  },
  context_too_long: { status: 400, type: invalid, openAiCode: "context_length_exceeded", says: tooLong },
  invalid_request: { status: 400, type: invalid },
  idempotency_conflict: { status: 422, type: invalid },
  backend_retired: denied,
  upstream_failed: {
    status: 502,
    type: "server_error",
    anthropicStatus: 529,
    anthropicType: "overloaded_error",
    passes: true,
    says: { anthropic: says("Overloaded.") },
  },
  upstream_timeout: { status: 504, type: "server_error", anthropicType: "timeout_error", passes: true },
  cancelled: { status: 499, type: "server_error", anthropicType: "api_error" },
  degraded: { status: 503, type: "server_error", anthropicType: "api_error", passes: true },
  unavailable: {
    status: 503,
    type: "server_error",
    anthropicType: "overloaded_error",
    passes: true,
    says: {
      openAi: says("The server is overloaded."),
      anthropic: says("Overloaded."),
      gemini: says("The model is overloaded."),
    },
  },
  expired: { status: 410, type: invalid },
  internal: { status: 500, type: "server_error", anthropicType: "api_error" },
};

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
function sizeIn({ details }: ErrorRecord): { readonly tokens: number; readonly maximum: number } {
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

function modelIn({ details }: ErrorRecord): string {
  const asked = isObject(details) ? details["asked"] : undefined;
  return typeof asked === "string" ? asked : "that was asked for";
}

/** The text of an error: the API's own sentence, then what happened and what to do. A final one has no words on which programs repeat. */
export function messageOf(error: ErrorRecord, api: Api): string {
  const { passes, says } = wireForms[error.code];
  const isEnd = isFinal(error);
  const first = isEnd && passes === true ? undefined : says?.[api]?.(error);
  const text = [first, error.message, error.hint].filter((part) => part).join(" ");
  return isEnd ? inPlainWords(text) : text;
}

/**
 * Reasons of an `upstream_failed` that is final from its first occurrence: the model was asked twice already and gave nothing that can be
 * used, the gateway looked for seconds for a prompt that did not arrive, or the user ended the conversation in the IDE.
 */
const finalReasons: ReadonlySet<unknown> = new Set([unusableAnswer, lostPrompt, stoppedInIde]);

/**
 * The status of a failure that is repeated without a prompt. The first quota refusal is 429, as the vendors send it.
 * Some clients (OpenCode, the Vercel AI SDK) repeat every 429 and every 5xx and ignore `x-should-retry`; they stop at
 * these. Source: docs/clients.md, "After a failure".
 */
function toldAgainStatus({ code }: ErrorRecord): number {
  return code === "quota_exhausted" ? 402 : finalFailureStatus;
}

/** The status of a failure; `usual` is the status of its code. */
function statusFor(usual: number, error: ErrorRecord): number {
  if (error.repeated === true || hasFinalReason(error)) return toldAgainStatus(error);
  return error.final === true ? finalStatus(usual, error) : usual;
}

/** The status of a failure that is final from its first occurrence: a 4xx stays, unless clients repeat it. */
export function finalStatus(status: number, error: ErrorRecord): number {
  return status === 429 || status >= 500 ? toldAgainStatus(error) : status;
}

/** Whether no program may repeat the request by itself: most such repeats get no prompt, so they are in vain. */
export function isFinal(error: ErrorRecord): boolean {
  return error.final === true || error.repeated === true || hasFinalReason(error);
}

/** Whether the account is refused for longer than a client may wait without its user. */
export function isLongRefusal({ code, retryAfterMs }: ErrorRecord): boolean {
  if (code === "quota_exhausted") return true;
  return code === "rate_limited" && (retryAfterMs === undefined || retryAfterMs > patientSeconds * 1000);
}

function hasFinalReason(error: ErrorRecord): boolean {
  return error.code === "upstream_failed" && finalReasons.has(reasonOf(error));
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
function retryHeaders(error: ErrorRecord): Readonly<Record<string, string>> {
  if (isFinal(error)) return { "x-should-retry": "false" };
  if (error.code === "quota_exhausted") return toldSoon;
  if (wireForms[error.code].passes !== true) return { "x-should-retry": "false" };
  if (error.retryAfterMs === undefined) return {};
  const seconds = Math.min(longestWaitSeconds, Math.max(1, Math.ceil(error.retryAfterMs / 1000)));
  return { "retry-after": String(seconds), ...(seconds <= patientSeconds ? { "x-should-retry": "true" } : toldSoon) };
}

/**
 * The `error` member of an OpenAI error: the members that the SDKs read, and ours beside them: the hint, our own code, the time when a
 * quota resets, and details (nearest models, the places where discovery looked).
 */
export function openAiErrorBody(error: ErrorRecord, requestId: string): Readonly<Record<string, unknown>> {
  const { type, openAiCode = error.code, passes } = wireForms[error.code];
  const isEnd = isFinal(error);
  return {
    message: messageOf(error, "openAi"),
    type: isEnd && error.code !== "quota_exhausted" ? invalid : type, // some clients repeat on a type of passing trouble
    param: error.param ?? null,
    code: isEnd && passes === true ? error.code : openAiCode,
    request_id: requestId,
    hint: error.hint,
    millrace: { code: error.code, message: error.message },
    ...resetAndDetails(error),
  };
}

/** An error as status, headers and body, for Chat Completions, Responses and every route outside the APIs. */
export function encodeOpenAiError(error: ErrorRecord, requestId: string): WireError {
  return {
    status: statusFor(wireForms[error.code].status, error),
    headers: retryHeaders(error),
    body: { error: openAiErrorBody(error, requestId) },
  };
}

/** An error as the Messages API writes it, with ours beside (`code`, `param`, `details`, `resets_at`). */
export function anthropicErrorBody(error: ErrorRecord, requestId: string): Readonly<Record<string, unknown>> {
  const { type, anthropicType = type } = wireForms[error.code];
  const finalType = error.code === "quota_exhausted" ? "billing_error" : invalid;
  return {
    type: "error",
    error: {
      type: isFinal(error) ? finalType : anthropicType,
      message: messageOf(error, "anthropic"),
      code: error.code,
      hint: error.hint,
      ...(error.param === undefined ? {} : { param: error.param }),
      ...resetAndDetails(error),
    },
    request_id: requestId,
  };
}

/** An error as status, headers and body of the Messages API. */
export function encodeAnthropicError(error: ErrorRecord, requestId: string): WireError {
  const { status, anthropicStatus = status } = wireForms[error.code];
  return {
    status: statusFor(anthropicStatus, error),
    headers: retryHeaders(error),
    body: anthropicErrorBody(error, requestId),
  };
}

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
 * An error as Google's APIs write it. Status and headers are OpenAI's; `details` have our own code, and what Gemini CLI looks for: a
 * plan that is used up for the day, or a short wait.
 */
export function encodeGeminiError(error: ErrorRecord, requestId: string): WireError {
  const { status, headers } = encodeOpenAiError(error, requestId);
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
  const named = googleStatuses[status] ?? "FAILED_PRECONDITION";
  const millrace = { code: error.code, request_id: requestId, ...resetAndDetails(error) };
  const param = error.param === undefined ? {} : { param: error.param };
  const message = messageOf(error, "gemini");
  return { status, headers, body: { error: { code: status, message, status: named, details, ...param, millrace } } };
}

function resetAndDetails({ resetsAtMs, details }: ErrorRecord): Readonly<Record<string, unknown>> {
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
