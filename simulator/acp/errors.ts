import type { ErrorName } from "../faults/error-texts.ts";
import { invalidParams, JsonRpcError } from "./json-rpc.ts";

/** The vendor's own codes beside those of ACP. Source: docs/dev/wire/acp.md, "Errors". */
export const codes = {
  auth: -32000,
  unavailable: -32010,
  exhausted: -32011,
  deadline: -32012,
  internal: -32013,
  unknown: -32014,
  locked: -32015,
  noSession: -32016,
  contentFilter: -32017,
  licence: -32019,
} as const;

/** One error of a turn over ACP: the cause in `agent_stopped`, and the prompt's reply. */
interface TurnError {
  readonly code: number;
  readonly cause: "error" | "quota_exhausted" | "auth_required" | "content_filter";
  readonly kind: string;
  readonly retryable: boolean;
}

const of = (code: number, kind: string, retryable = false, cause: TurnError["cause"] = "error"): TurnError => ({
  code,
  kind,
  retryable,
  cause,
});

const table: Readonly<Record<ErrorName, TurnError>> = {
  rate_limit: of(codes.exhausted, "rate_limited", true),
  high_demand: of(codes.unavailable, "unavailable", true),
  quota: of(codes.exhausted, "quota_exhausted", true, "quota_exhausted"), // a quota error was seen marked retryable
  weekly_quota: of(codes.exhausted, "quota_exhausted", true, "quota_exhausted"),
  content_policy: of(codes.contentFilter, "content_filter", false, "content_filter"),
  invalid_tool_call: of(codes.internal, "internal", true),
  internal: of(codes.internal, "internal", true),
  session: of(codes.internal, "internal"),
  retired: of(invalidParams, "invalid_model"),
  permission: of(codes.licence, "licence"),
  devin_local: of(codes.licence, "licence"),
  removed: of(codes.unknown, "unknown"),
  too_long: of(invalidParams, "prompt_too_long"),
  canceled_stream: of(codes.deadline, "deadline_exceeded", true),
  panel_state: of(codes.unknown, "unknown"),
  untrusted: of(codes.unknown, "unknown"),
  user_status: of(codes.unknown, "unknown"),
  not_found: of(codes.noSession, "session_not_found"),
  no_key: of(codes.auth, "auth_required", false, "auth_required"),
  no_model: of(invalidParams, "invalid_model"),
  nil_message: of(invalidParams, "invalid_params"),
};

/** The cause in `agent_stopped` for a turn that ends with this error. */
export function causeOf(name: ErrorName): TurnError["cause"] {
  return table[name].cause;
}

/** The error as the reply to a prompt. */
export function turnError(name: ErrorName, text: string): JsonRpcError {
  const { code, kind, retryable } = table[name];
  return vendorError(code, text, kind, retryable);
}

export function vendorError(code: number, text: string, kind: string, retryable = false): JsonRpcError {
  return new JsonRpcError(code, text, { "cognition.ai/errorKind": kind, "cognition.ai/retryable": retryable });
}
