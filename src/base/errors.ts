import { productToday } from "./ide-name.ts";

/** What failed, as coarse as the words of the APIs: each dialect has its words for each kind. */
export type ErrorKind =
  | "request"
  | "permission"
  | "key"
  | "model"
  | "size"
  | "quota"
  | "rate"
  | "upstream"
  | "timeout"
  | "busy"
  | "fault";

/** All that is decided about an error. */
export interface ErrorRow {
  readonly kind: ErrorKind;
  /**
   * The HTTP status. An error that waiting cannot solve is a 4xx, because programs repeat each 5xx. A 503 for a missing IDE made six
   * clients retry for 20 to 400 seconds. Source: docs/clients.md, "After a failure".
   */
  readonly status: number;
  /** Anthropic's status, where it is another one: 529 means "try later". */
  readonly anthropicStatus?: number;
  /**
   * Whether a repeat can help: of the same request, and of an attach to its stream, which is told so by an error without details.
   *
   * - `soon`: both
   * - `resume`: both, but an attach only after the stream's request was accepted
   * - `attach`: only such an attach. The gateway has just looked for an IDE, so a request that is sent again finds the same.
   * - without: neither
   */
  readonly repeat?: "soon" | "resume" | "attach";
  /** When a prompt follows if the same request comes again all the same: at once, where it does not say. `turns/back-off.ts` has the waits. */
  readonly prompt?: "after_a_wait" | "after_a_long_wait";
  /** The request caused it: its author corrects it, and nothing is broken. */
  readonly isMistake?: true;
  /** No program may repeat the request by itself, from the first time on. */
  readonly isFinal?: true;
}

/** The one table of errors: every code, the same for every layer and every API. This list is closed. */
const table = {
  ide_not_running: { kind: "request", status: 424, repeat: "attach" },
  not_signed_in: { kind: "permission", status: 403 },
  consent_needed: { kind: "permission", status: 403 },
  unauthenticated: { kind: "key", status: 401 },
  unknown_model: { kind: "model", status: 404, isMistake: true },
  model_not_allowed: { kind: "permission", status: 403, isMistake: true },
  quota_exhausted: { kind: "quota", status: 429, prompt: "after_a_long_wait" },
  rate_limited: { kind: "rate", status: 429, repeat: "soon", prompt: "after_a_wait" },
  context_too_long: { kind: "size", status: 400, prompt: "after_a_wait", isMistake: true },
  invalid_request: { kind: "request", status: 400, prompt: "after_a_wait", isMistake: true },
  idempotency_conflict: { kind: "request", status: 422, isMistake: true },
  backend_retired: { kind: "permission", status: 403 },
  upstream_failed: { kind: "upstream", status: 502, anthropicStatus: 529, repeat: "resume" },
  upstream_timeout: { kind: "timeout", status: 504, repeat: "resume" },
  cancelled: { kind: "fault", status: 499 },
  degraded: { kind: "fault", status: 503, repeat: "soon" },
  unavailable: { kind: "busy", status: 503, repeat: "soon" },
  expired: { kind: "request", status: 410 },
  internal: { kind: "fault", status: 500 },
} as const satisfies Readonly<Record<string, ErrorRow>>;

export type ErrorCode = keyof typeof table;

export const errorCodes = Object.keys(table) as readonly ErrorCode[]; // by the type above

/** `details.reason` of an `upstream_failed` whose answer cannot be used: the turn itself has asked the model twice. */
export const unusableAnswer = "unusable_answer";

/** `details.reason` of an `upstream_failed` whose conversation the user stopped or deleted in the IDE: nobody wants it asked again by itself. */
export const stoppedInIde = "stopped_in_ide";

/** `details.reason` of an `upstream_failed` whose prompt did not arrive. The gateway has looked for it for seconds. */
export const lostPrompt = "lost_prompt";

/** `details.reason` of a failure after `started` whose prompt certainly was not sent: its Idempotency-Key is not spent. */
export const unsentPrompt = "unsent_prompt";

/** What a reason changes in the row of its code. */
const reasonRows: Readonly<Record<string, Partial<ErrorRow>>> = {
  [unusableAnswer]: { isFinal: true, prompt: "after_a_wait" },
  [stoppedInIde]: { isFinal: true, prompt: "after_a_wait" },
  [lostPrompt]: { isFinal: true },
};

/** Refusals of a request before it is read as a turn, each with the status by which programs know it: another one than that of its code. */
export const refusals = {
  no_host: { code: "invalid_request", status: 400 },
  no_key: { code: "unauthenticated", status: 401 },
  not_yours: { code: "unauthenticated", status: 403 },
  not_back: { code: "unavailable", status: 503 },
  not_open: { code: "invalid_request", status: 403 },
  not_found: { code: "invalid_request", status: 404 },
  wrong_method: { code: "invalid_request", status: 405 },
  not_now: { code: "invalid_request", status: 409 },
  too_large: { code: "invalid_request", status: 413 },
  unknown_coding: { code: "invalid_request", status: 415 },
  no_upgrade: { code: "invalid_request", status: 426 },
} as const satisfies Readonly<Record<string, { readonly code: ErrorCode; readonly status: number }>>;

/** The `reason` in an error's details, if it has one. */
export function reasonOf({ details }: Pick<ErrorRecord, "details">): unknown {
  return typeof details === "object" && details !== null && "reason" in details ? details.reason : undefined;
}

/** All that is decided about an error, by its code and its reason. */
export function rowOf(error: Pick<ErrorRecord, "code" | "details">): ErrorRow {
  const reason = reasonOf(error);
  return { ...table[error.code], ...(typeof reason === "string" ? reasonRows[reason] : undefined) };
}

/** Failures that the request itself caused. */
export const requestMistakes = errorCodes.filter((code) => rowOf({ code }).isMistake);

/** The hint for each code, if the error has no better one. */
export const defaultHints: Readonly<Record<ErrorCode, string>> = {
  ide_not_running: `Start ${productToday} and open a folder, then send the request again. \`millrace doctor\` shows where Millrace looked.`,
  not_signed_in: "Sign in inside the IDE, then try again.",
  consent_needed:
    "Run `millrace init --accept`, once. It says what prompts use. In a script, start the gateway with `--accept`.",
  unauthenticated: "Send the gateway's key as a bearer token. `millrace keys --value` prints it.",
  unknown_model: "`millrace models` lists the models of this account.",
  model_not_allowed: "Pick a model that your plan includes; `millrace models` marks them.",
  quota_exhausted: "Wait until the quota resets (`millrace usage` shows when), or pick a cheaper model.",
  rate_limited: "Wait for the time given, then send the request again.",
  context_too_long: "Shorten the conversation or pick a model with a larger context window.",
  invalid_request: "Correct the request and send it again.",
  idempotency_conflict: "Use a new idempotency key for a different request.",
  backend_retired: "Use the IDE's agent instead: leave `--backend` at `auto`, or set it to `acp`.",
  upstream_failed: "Try again. If it fails again, restart the IDE and run `millrace doctor`.",
  upstream_timeout: "Try again. If it fails again, restart the IDE.",
  cancelled: "Send the request again if you still want the answer. If it had an idempotency key, use a new one.",
  degraded: "Free disk space or repair the store. Until then you get answers, but cannot resume them.",
  unavailable: "Send the same request again in a moment: it continues the same answer, even after a restart.",
  expired: "Send the request again, under a new idempotency key.",
  internal: "This is a bug in Millrace. Please report it with the request id of this error.",
};

export interface MillraceErrorOptions {
  /** The user's next step; without one, the default for the code. */
  readonly hint?: string;
  /** How long to wait before the same request may succeed. */
  readonly retryAfterMs?: number;
  /** The request field at fault, as the caller wrote it (`messages[2].content`). */
  readonly param?: string;
  /** When the limit that was hit resets, epoch ms. */
  readonly resetsAtMs?: number;
  /** More for a person or a tool to read: nearest model names, a decision trace. JSON only, never a secret. */
  readonly details?: unknown;
  /** An earlier refusal, repeated: the IDE was not asked this time. */
  readonly repeated?: boolean;
  /** The same request gets no prompt if it comes again now: it failed before, or its key is spent. */
  readonly final?: boolean;
  readonly cause?: unknown;
}

/** The form of an error inside a log: plain data, without its cause. */
export interface ErrorRecord extends Omit<MillraceErrorOptions, "cause" | "hint"> {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
}

const brand = Symbol.for("millrace.error");

/**
 * The only error that crosses a border between layers. `code` is for programs, `message` tells what happened, `hint` what to do next,
 * `cause` keeps the original. Branded by a registered symbol, so that two copies of the package agree.
 */
export class MillraceError extends Error {
  override readonly name = "MillraceError";
  readonly [brand] = true;
  readonly code: ErrorCode;
  readonly hint: string;
  readonly retryAfterMs: number | undefined;
  readonly param: string | undefined;
  readonly resetsAtMs: number | undefined;
  readonly details: unknown;
  readonly repeated: boolean;
  readonly final: boolean;

  constructor(code: ErrorCode, message: string, options: MillraceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? defaultHints[code];
    this.retryAfterMs = options.retryAfterMs;
    this.param = options.param;
    this.resetsAtMs = options.resetsAtMs;
    this.details = options.details;
    this.repeated = options.repeated ?? false;
    this.final = options.final ?? false;
  }

  /** The plain form, for a log or a wire. */
  toRecord(): ErrorRecord {
    return {
      code: this.code,
      message: this.message,
      hint: this.hint,
      ...(this.retryAfterMs === undefined ? {} : { retryAfterMs: this.retryAfterMs }),
      ...(this.param === undefined ? {} : { param: this.param }),
      ...(this.resetsAtMs === undefined ? {} : { resetsAtMs: this.resetsAtMs }),
      ...(this.details === undefined ? {} : { details: this.details }),
      ...(this.repeated ? { repeated: true } : {}),
      ...(this.final ? { final: true } : {}),
    };
  }

  static fromRecord(record: ErrorRecord, cause?: unknown): MillraceError {
    const { code, message, ...options } = record;
    return new MillraceError(code, message, cause === undefined ? options : { ...options, cause });
  }
}

/** Whether a caught value is ours, also when another copy of the package threw it. */
export function isMillraceError(value: unknown): value is MillraceError {
  return typeof value === "object" && value !== null && brand in value;
}

/** Whether a store failed, and nothing else. */
export function isDegraded(error: unknown): error is MillraceError {
  return isMillraceError(error) && error.code === "degraded";
}

/** Whether the account may send nothing now: its quota is used up, or it sent too much in a short time. */
export function isLimit({ code }: { readonly code: ErrorCode }): boolean {
  return code === "quota_exhausted" || code === "rate_limited";
}

/** Whether there is no IDE to ask now; one may come. */
export function isWithoutIde(error: unknown): error is MillraceError {
  return isMillraceError(error) && (error.code === "ide_not_running" || error.code === "not_signed_in");
}

/** A MillraceError unchanged. Any other error is a bug that reached a border, and becomes `internal` without its text. */
export function toMillraceError(value: unknown): MillraceError {
  if (isMillraceError(value)) return value;
  return new MillraceError("internal", "Something went wrong inside Millrace.", { cause: value });
}
