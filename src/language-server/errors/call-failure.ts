import { isMillraceError } from "../../base/errors.ts";
import { upstreamReason } from "./errors.ts";
import { type CallFailureKind, failureKinds } from "./symptoms.ts";

/** How a call failed, by the reason in the error's details; `interrupted`, the careful answer, when the error does not say. */
export function callFailure(error: unknown): CallFailureKind {
  if (!isMillraceError(error) || error.code === "upstream_timeout" || error.code === "cancelled") return "interrupted";
  const reason = upstreamReason(error);
  if (reason !== undefined) return failureKinds[reason];
  return error.code === "ide_not_running" ? "not_sent" : "interrupted";
}
