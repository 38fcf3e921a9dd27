import { type ErrorName, errorTexts } from "../faults/error-texts.ts";
import type { TurnReason } from "../model/engine.ts";
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

type Cause = "error" | "quota_exhausted" | "auth_required" | "content_filter";
/** One error of a turn over ACP: code, kind, whether it says that it may be retried, and the cause in `agent_stopped`. */
type Row = readonly [code: number, kind: string, retryable?: boolean, cause?: Cause];

const usedUp: Row = [codes.exhausted, "quota_exhausted", true, "quota_exhausted"]; // a quota error was seen marked retryable
const unknown: Row = [codes.unknown, "unknown"];
const noModel: Row = [invalidParams, "invalid_model"];
const licence: Row = [codes.licence, "licence"];

const table: Readonly<Record<ErrorName, Row>> = {
  rate_limit: [codes.exhausted, "rate_limited", true],
  high_demand: [codes.unavailable, "unavailable", true],
  quota: usedUp,
  weekly_quota: usedUp,
  content_policy: [codes.contentFilter, "content_filter", false, "content_filter"],
  invalid_tool_call: [codes.internal, "internal", true],
  internal: [codes.internal, "internal", true],
  session: [codes.internal, "internal"],
  retired: noModel,
  permission: licence,
  devin_local: licence,
  removed: unknown,
  too_long: [invalidParams, "prompt_too_long"],
  canceled_stream: [codes.deadline, "deadline_exceeded", true],
  panel_state: unknown,
  untrusted: unknown,
  user_status: unknown,
  not_found: [codes.noSession, "session_not_found"],
  no_key: [codes.auth, "auth_required", false, "auth_required"],
  no_model: noModel,
  nil_message: [invalidParams, "invalid_params"],
};

/** How a turn that fails for this reason ends: the cause in `agent_stopped`, and the reply to its prompt. */
export function failedTurn(reason: TurnReason): { readonly cause: Cause; readonly error: JsonRpcError } {
  const [code, kind, retryable, cause = "error"] = table[typeof reason === "string" ? reason : "internal"];
  const { text } = typeof reason === "string" ? errorTexts(reason) : reason;
  return { cause, error: vendorError(code, text, kind, retryable) };
}

export function vendorError(code: number, text: string, kind: string, retryable = false): JsonRpcError {
  return new JsonRpcError(code, text, { "cognition.ai/errorKind": kind, "cognition.ai/retryable": retryable });
}

export function noSession(sessionId: string): JsonRpcError {
  return vendorError(codes.noSession, `Session not found: ${sessionId}`, "session_not_found");
}

export function locked(sessionId: string): JsonRpcError {
  return vendorError(codes.locked, `Session is locked by another process: ${sessionId}`, "session_locked", true);
}
