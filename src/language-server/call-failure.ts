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

/** The cause of every `MillraceError` that a call throws: the kind of failure, with the transport's own error as cause. */
export class CallFailure extends Error {
  override readonly name = "CallFailure";
  readonly kind: CallFailureKind;

  constructor(kind: CallFailureKind, cause?: unknown) {
    super(kind, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** How a call failed. `interrupted`, the careful answer, when the error does not say. */
export function callFailure(error: unknown): CallFailureKind {
  return isMillraceError(error) && error.cause instanceof CallFailure ? error.cause.kind : "interrupted";
}
