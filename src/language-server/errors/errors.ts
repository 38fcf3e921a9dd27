import { Code, ConnectError } from "@connectrpc/connect";
import { type ErrorCode, isMillraceError, MillraceError, reasonOf } from "../../base/errors.ts";
import type { Secret } from "../../base/secret.ts";
import { quotable } from "../../base/shown-text.ts";
import type { CortexErrorDetails } from "../../proto/windsurf/exa/cortex_pb.ts";
import { isWithoutCascade } from "../product-name.ts";
import { parseRetryAfter } from "./reset-time.ts";
import { symptomError } from "./symptom.ts";
import { failureKinds, nodeSymptoms, type UpstreamReason, type UpstreamSymptom, upstreamSymptoms } from "./symptoms.ts";

/** The facts of a call that translating its error needs: the time, and the secrets that must never appear in a text. */
export interface ErrorContext {
  readonly nowMs: number;
  readonly secrets: readonly Secret[];
}

/** `details` of an error that came from a language server. */
export interface UpstreamDetails {
  readonly reason: UpstreamReason;
  /** Ids that the server gave for its own support: error and trace. */
  readonly errorId?: string;
  readonly traceId?: string;
  /** Of a quota that is used up: the window that the text names. */
  readonly window?: "daily" | "weekly";
}

/**
 * Translates any error of a call into ours. Reads gRPC trailers, Connect errors and Node's socket errors. If the signal aborted, its
 * reason takes precedence over errors that it caused.
 *
 * Source: docs/dev/wire/language-server.md, "Status codes", "CSRF token refused", "Error texts".
 */
export function translateError(error: unknown, context: ErrorContext, signal?: AbortSignal): MillraceError {
  if (isMillraceError(error)) return error;
  if (signal?.aborted === true) return abortError(signal.reason);
  const own = ownError(error);
  if (own !== undefined) return own;
  const nodeRow = nodeErrorRow(error);
  if (nodeRow !== undefined) return fromRow(nodeRow, "", context, { cause: error });
  const connectError = ConnectError.from(error);
  const text = connectError.rawMessage;
  const row = rowFor(connectError.code, text);
  return fromRow(row, text, context, {
    cause: error,
    retryAfter: connectError.metadata.get("retry-after") ?? undefined,
  });
}

/**
 * An error step of a trajectory (`error_message` step, or field 31 of any step), as ours.
 *
 * Source: docs/dev/wire/cascade.md, "Trajectories and steps", "Reading an answer".
 */
export function errorFromDetails(details: CortexErrorDetails, context: ErrorContext): MillraceError {
  const texts = [details.userErrorMessage, details.shortError, details.fullError, details.details];
  const text = texts.find((candidate) => candidate !== "") ?? "";
  const all = [...texts, ...details.structuredErrorParts.map(partText)].join("\n");
  const row = rowByText(all) ?? otherRow("upstream_failed");
  return fromRow(row, text, context, { searched: all, errorId: details.errorId || undefined });
}

/** An in-band error text (`is_error` in a chat message with status 0), as ours. */
export function errorFromText(text: string, context: ErrorContext): MillraceError {
  return fromRow(rowByText(text) ?? otherRow("upstream_failed"), text, context, {});
}

/** Why a server failed, where one did: `undefined` for errors that come from elsewhere. */
export function upstreamReason(error: unknown): UpstreamReason | undefined {
  const reason = isMillraceError(error) ? reasonOf(error) : undefined;
  return typeof reason === "string" && Object.hasOwn(failureKinds, reason) ? (reason as UpstreamReason) : undefined; // a key, as seen
}

/**
 * The same error, or `backend_retired` if it reports a missing call in a build whose Cascade was removed.
 *
 * Source: docs/dev/wire/devin-desktop.md, "Cascade": no text of such a server is known, so the version decides.
 */
export function asRetired(error: unknown, ideVersion: string): unknown {
  if (!isWithoutCascade(ideVersion) || upstreamReason(error) !== "not_implemented") return error;
  return fromRow(rowNamed("retired"), "", { nowMs: 0, secrets: [] }, { cause: error });
}

function partText(part: CortexErrorDetails["structuredErrorParts"][number]): string {
  return part.part.case === "text" || part.part.case === "url" ? part.part.value : "";
}

function abortError(reason: unknown): MillraceError {
  if (isMillraceError(reason)) return reason;
  return reason instanceof Error && reason.name === "TimeoutError"
    ? new MillraceError("upstream_timeout", "The IDE's server did not answer in time.", { cause: reason })
    : new MillraceError("cancelled", "The call was cancelled.", { cause: reason });
}

/** The error that we threw while a connection was made, unwrapped from the library's error. */
function ownError(error: unknown): MillraceError | undefined {
  let current = error;
  for (let depth = 0; current instanceof Error && depth < 8; depth++) {
    if (isMillraceError(current)) return current;
    current = current.cause;
  }
  return undefined;
}

function nodeErrorRow(error: unknown): UpstreamSymptom | undefined {
  let current = error;
  for (let depth = 0; current instanceof Error && depth < 8; depth++) {
    const code: unknown = "code" in current ? current.code : undefined;
    const row = typeof code === "string" ? nodeSymptoms.find((r) => r.pattern.test(code)) : undefined;
    if (row !== undefined) return row;
    const inner: unknown = current instanceof AggregateError ? current.errors[0] : undefined;
    current = inner ?? current.cause;
  }
  return undefined;
}

/** Only the head of a text is searched: stack traces are long, and the error's text is at their start. */
function rowByText(text: string): UpstreamSymptom | undefined {
  const head = text.slice(0, 4096);
  return upstreamSymptoms.find((row) => row.pattern.test(head));
}

/** A status code alone says little; the text comes first, except where the code is the whole message. */
function rowFor(code: Code, text: string): UpstreamSymptom {
  if (retiredRows.some(({ pattern }) => pattern.test(text.slice(0, 4096)))) return rowByText(text) ?? notImplementedRow;
  if (code === Code.Unimplemented || /^HTTP 404\b/.test(text)) return notImplementedRow;
  const row = rowByText(text);
  if (row !== undefined) return row;
  if (code === Code.PermissionDenied && /\b(?:plan|tier|model|subscription)\b/i.test(text))
    return rowNamed("plan_refused");
  return rowByCode[code];
}

/** The first row of that reason. */
function rowNamed(reason: UpstreamReason): UpstreamSymptom {
  return upstreamSymptoms.find((row) => row.reason === reason) ?? otherRow("internal");
}

const notImplementedRow = rowNamed("not_implemented");
const retiredRows = upstreamSymptoms.filter(({ reason }) => reason === "retired");
/** Without a text it is unknown which of the two credentials was refused. */
const csrfRow: UpstreamSymptom = {
  ...rowNamed("csrf_refused"),
  message: "The IDE's server refused the CSRF token or the API key.",
  hint: "Try again: the IDE is looked for anew. If it stays, sign in inside the IDE again and run `millrace doctor`.",
};

function otherRow(code: ErrorCode, reason: UpstreamReason = "other"): UpstreamSymptom {
  return { pattern: /^/, code, reason, message: "The IDE's server failed." };
}

const rowByCode: Readonly<Record<Code, UpstreamSymptom>> = {
  [Code.Canceled]: otherRow("upstream_failed", "upstream_dropped"),
  [Code.Unknown]: otherRow("upstream_failed", "unclear"),
  [Code.InvalidArgument]: { ...otherRow("invalid_request"), message: "The IDE's server refused the request." },
  [Code.DeadlineExceeded]: {
    ...otherRow("upstream_timeout", "unclear"),
    message: "The IDE's server did not answer in time.",
  },
  [Code.NotFound]: otherRow("upstream_failed"),
  [Code.AlreadyExists]: otherRow("upstream_failed"),
  [Code.PermissionDenied]: csrfRow, // from a local server 7 and 16 mean the token, unless the text says otherwise
  [Code.ResourceExhausted]: otherRow("rate_limited", "rate"),
  [Code.FailedPrecondition]: otherRow("upstream_failed"),
  [Code.Aborted]: otherRow("upstream_failed", "connection_lost"),
  [Code.OutOfRange]: otherRow("upstream_failed"),
  [Code.Unimplemented]: notImplementedRow,
  [Code.Internal]: otherRow("upstream_failed", "unclear"),
  [Code.Unavailable]: otherRow("upstream_failed", "unavailable"),
  [Code.DataLoss]: otherRow("upstream_failed", "unclear"),
  [Code.Unauthenticated]: csrfRow,
};

interface RowExtras {
  readonly cause?: unknown;
  readonly retryAfter?: string | undefined;
  readonly errorId?: string | undefined;
  /** Where ids and reset times are looked for; the shown text otherwise. */
  readonly searched?: string;
}

function fromRow(row: UpstreamSymptom, text: string, context: ErrorContext, extras: RowExtras): MillraceError {
  const { cause, retryAfter, searched = text } = extras;
  const errorId = extras.errorId ?? /error ID: ([\w-]{1,64})/i.exec(searched)?.[1];
  const traceId = /trace ID: ([\w-]{1,64})/i.exec(searched)?.[1];
  const details: UpstreamDetails = {
    reason: row.reason,
    ...(errorId === undefined ? {} : { errorId }),
    ...(traceId === undefined ? {} : { traceId }),
  };
  const reset = retryAfter === undefined ? undefined : parseRetryAfter(retryAfter, context.nowMs);
  const said = { ...row, message: message(row, text, context.secrets) };
  return symptomError(said, searched, { nowMs: context.nowMs, reset, details, cause });
}

/** Reasons whose own words say more than ours: unknown failures, and which model to take instead. */
const quoted: ReadonlySet<UpstreamReason> = new Set(["other", "unclear", "model_retired"]);

/** Our words; where no row knew the text, also the server's own, cut to a line and without anything secret. */
function message(row: UpstreamSymptom, text: string, secrets: readonly Secret[]): string {
  if (text === "" || !quoted.has(row.reason)) return row.message;
  const values = secrets.map((secret) => secret.reveal()); // only to take them out
  return `${row.message} It says: "${quotable(text, values)}"`;
}
