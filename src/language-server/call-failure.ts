import { isMillraceError } from "../base/errors.ts";

/**
 * What a failed call tells of the server, beyond the error's code; decides whether it may have acted on the call.
 *
 * - `not_sent`: the server never got it (connection refused, or no connection could be made)
 * - `interrupted`: the connection broke or the deadline passed after the request may have left: it acted, or it did not
 * - `unauthenticated`: it did not take the CSRF token; another server listens there now, or this one restarted
 * - `panel_state_missing`: "panel state not found"; it did not act
 * - `trajectory_missing`: it does not know this cascade id
 * - `unimplemented`: this build has no such call
 * - `refused`: it answered with any other error, and did not act
 *
 * Source: facts/language-server.md, 3.3, 3.4, 3.8 and 9.6.
 */
export type CallFailureKind =
  | "not_sent"
  | "interrupted"
  | "unauthenticated"
  | "panel_state_missing"
  | "trajectory_missing"
  | "unimplemented"
  | "refused";

/** By the reason in the error's details, as the translation of upstream errors puts it there; all others are refusals. */
const kinds: Readonly<Record<string, CallFailureKind>> = {
  connection_refused: "not_sent",
  tls_refused: "not_sent",
  connection_lost: "interrupted",
  unavailable: "interrupted",
  upstream_dropped: "interrupted",
  answer_too_large: "interrupted",
  csrf_refused: "unauthenticated",
  panel_state_lost: "panel_state_missing",
  cascade_unknown: "trajectory_missing",
  not_implemented: "unimplemented",
};

/** How a call failed. `interrupted`, the careful answer, when the error does not say. */
export function callFailure(error: unknown): CallFailureKind {
  if (!isMillraceError(error) || error.code === "upstream_timeout" || error.code === "cancelled") return "interrupted";
  const { details } = error;
  const reason = typeof details === "object" && details !== null && "reason" in details ? details.reason : undefined;
  if (typeof reason === "string") return kinds[reason] ?? "refused";
  return error.code === "ide_not_running" ? "not_sent" : "interrupted";
}
