import { Code, ConnectError } from "@connectrpc/connect";
import { type ErrorCode, MillraceError } from "../../base/errors.ts";
import { ErrorDetailsSchema } from "../../proto/aiserver/v1/chat_pb.ts";

/** Why a call failed, as far as a stream cares. */
export type Failure =
  | RefusalReport
  /** The other side does not support this tier. */
  | { readonly kind: "no_such_tier"; readonly error: unknown }
  | LossReport;

/** The gateway's own word, which another attach cannot mend. */
export interface RefusalReport {
  readonly kind: "refused";
  readonly error: MillraceError;
  /** As docs/stream-protocol.md lists them, where one is given. */
  readonly reason: string | undefined;
}

/** Anything that another attach may mend. */
export interface LossReport {
  readonly kind: "lost";
  /** The wait that the answer asked for, else 0. */
  readonly retryAfterMs: number;
  /** Its words, where it asked for that. */
  readonly why: string | undefined;
  readonly error: unknown;
}

/** The names of the protocol, and those of this library, which its users have written. */
const ownNames: Readonly<Record<string, string>> = {
  "model_details.model_name": "model",
  conversation: "messages",
  mcp_tools: "tools",
  system_prompt: "system",
  response_format: "format",
  reasoning_effort: "effort",
  "x-millrace-grace": "grace",
  "x-idempotency-event-id": "after",
};

/** "conversation" is a word of its own elsewhere. */
const wireNames =
  /^conversation(?=[:[])|model_details\.model_name|mcp_tools|system_prompt|response_format|reasoning_effort|x-millrace-grace|x-idempotency-event-id/g;

/** What the user of this library can do; the gateway tells it to the author of a client. */
const hints: Readonly<Record<string, string>> = {
  superseded: "Another program or window continues this stream. Read it there, or `observe` it.",
  ticket_spent: "Another program or window continued this stream with a copy of its record. Start a new stream.",
  seqno_conflict: "This record is an older copy. Start a new stream.",
};

/** A text of the gateway with this library's names in it. */
function inOwnWords(text: string): string {
  return text.replace(wireNames, (name) => ownNames[name] ?? name);
}

/** Reasons that say nothing of the stream: this way of carrying it is none, as where something in between speaks only HTTP/1.1. */
const ofTheWay: ReadonlySet<string> = new Set(["no_such_method", "needs_http2"]);

/**
 * Sorts a failed call. A refusal is known by its details. Source: docs/stream-protocol.md, "Refusals";
 * docs/dev/wire/idempotent-streams.md, "Client algorithm".
 */
export function failureOf(error: unknown): Failure {
  const failure = ConnectError.from(error);
  const [details] = failure.findDetails(ErrorDetailsSchema);
  if (details === undefined) {
    // A wrong key stays wrong; a proxy that reports it is believed too.
    if (failure.code === Code.Unauthenticated || failure.code === Code.PermissionDenied) {
      const message = `The gateway, or a proxy in front of it, rejected the key (${failure.rawMessage}).`;
      const refused = new MillraceError("unauthenticated", message, {
        hint: "`millrace keys --value` prints the key; a page's origin must be allowed with `--allow-origin`.",
        cause: error,
      });
      return { kind: "refused", error: refused, reason: undefined };
    }
    // Connect's code for 404 and 464, for HTML, and for a protocol that the other side does not speak.
    if (failure.code === Code.Unimplemented) return { kind: "no_such_tier", error };
    return lost(failure, error);
  }
  if (details.details?.isRetryable === true) return lost(failure, error);
  const { code, hint: said = "", reason } = details.details?.additionalInfo ?? {};
  const hint = (reason === undefined ? undefined : hints[reason]) ?? inOwnWords(said);
  if (reason !== undefined && ofTheWay.has(reason)) return { kind: "no_such_tier", error };
  // The gateway writes its own codes; a code of a newer gateway is passed on unchanged.
  const known = new MillraceError(
    (code ?? "upstream_failed") as ErrorCode,
    inOwnWords(details.details?.detail || failure.rawMessage),
    {
      ...(hint === "" ? {} : { hint }),
      ...(reason === undefined ? {} : { details: { reason } }),
      cause: error,
    },
  );
  return { kind: "refused", error: known, reason };
}

function lost(failure: ConnectError, error: unknown): LossReport {
  const waitMs = retryAfterMs(failure);
  return { kind: "lost", retryAfterMs: waitMs, why: waitMs > 0 ? failure.rawMessage : undefined, error };
}

/** The loss of a connection to a degraded gateway. */
export function lostForGood(): MillraceError {
  return new MillraceError("degraded", "The connection was lost, and the gateway had said that it could not resume.");
}

/** Seconds only: a date would need a clock that agrees with the gateway's. */
function retryAfterMs({ metadata }: ConnectError): number {
  const seconds = Number(metadata.get("retry-after") ?? "0");
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
}

const nobodyThere = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

/** The deepest reason of a failed call, in the runtime's words: `connect ECONNREFUSED 127.0.0.1:8787`. */
export function deepestReason(error: unknown): string {
  let deepest = error;
  while (deepest instanceof Error && deepest.cause instanceof Error) deepest = deepest.cause;
  if (!(deepest instanceof Error)) return String(deepest);
  // Several addresses were tried: each failed for a different reason.
  if (deepest instanceof AggregateError && deepest.message === "") return deepestReason(deepest.errors[0]);
  return ConnectError.from(deepest).rawMessage;
}

/** Whether no connection was made, if the runtime reports that (Node and Bun do, browsers do not). */
export function isUnreachable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ("code" in cause && typeof cause.code === "string" && nobodyThere.has(cause.code)) return true;
  return false;
}
