import { isMillraceError } from "../../base/errors.ts";
import { upstreamReason } from "./errors.ts";
import type { UpstreamReason } from "./symptoms.ts";

/**
 * The kind of a failed call, beyond the error's code. It decides whether the server may have acted on the call.
 *
 * - `not_sent`: the server never got it (connection refused, or no connection could be made)
 * - `interrupted`: the connection broke or the deadline passed after the request may have left: it acted, or it did not
 * - `unauthenticated`: it did not take the CSRF token; another server listens there now, or this one restarted
 * - `panel_state_missing`: "panel state not found"; it did not act
 * - `trajectory_missing`: it does not know this cascade id
 * - `unimplemented`: this build has no such call
 * - `retired`: Cascade was removed from this build or model; it did not act, and never will
 * - `refused`: it answered with any other error, and did not act
 *
 * Source: docs/dev/wire/language-server.md, "Status codes", "CSRF token refused", "Error texts", "After a restart".
 */
export type CallFailureKind =
  | "not_sent"
  | "interrupted"
  | "unauthenticated"
  | "panel_state_missing"
  | "trajectory_missing"
  | "unimplemented"
  | "retired"
  | "refused";

const kinds: Readonly<Record<UpstreamReason, CallFailureKind>> = {
  connection_refused: "not_sent",
  tls_refused: "not_sent",
  connection_lost: "interrupted",
  unavailable: "interrupted",
  upstream_dropped: "interrupted",
  answer_too_large: "interrupted",
  server_error: "interrupted",
  unclear: "interrupted",
  csrf_refused: "unauthenticated",
  not_the_server: "interrupted",
  panel_state_lost: "panel_state_missing",
  cascade_unknown: "trajectory_missing",
  not_implemented: "unimplemented",
  retired: "retired",
  model_moved: "retired",
  account_not_loaded: "refused",
  api_key_missing: "refused",
  api_key_refused: "refused",
  untrusted_workspace: "refused",
  session_refused: "refused",
  schema_mismatch: "refused",
  model_unknown: "refused",
  model_retired: "refused",
  plan_refused: "refused",
  quota: "refused",
  rate: "refused",
  capacity: "refused",
  prompt_too_long: "refused",
  content_policy: "refused",
  bad_tool_call: "refused",
  other: "refused",
};

/** How a call failed, by the reason in the error's details; `interrupted`, the careful answer, when the error does not say. */
export function callFailure(error: unknown): CallFailureKind {
  if (!isMillraceError(error) || error.code === "upstream_timeout" || error.code === "cancelled") return "interrupted";
  const reason = upstreamReason(error);
  if (reason !== undefined) return kinds[reason];
  return error.code === "ide_not_running" ? "not_sent" : "interrupted";
}
