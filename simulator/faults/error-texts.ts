import { Code, ConnectError } from "@connectrpc/connect";

/** One upstream failure of a turn: the user's text, and the code when the call itself carries it. */
interface UpstreamError {
  readonly code: Code;
  readonly text: string;
  readonly short: string;
}

const ids = "(error ID: 5f1c2d3e4b5a69788796a5b4c3d2e1f0)";
const trace = "(trace ID: 0af7651916cd43dd8448eb211c80319c)";

const table = {
  rate_limit: {
    code: Code.ResourceExhausted,
    text: "Reached message rate limit for this model. Please try again later. Resets in: 3h0m0s",
    short: "Rate limit reached",
  },
  high_demand: {
    code: Code.Unavailable,
    text: "We're currently facing high demand for this model. Please try again later.",
    short: "High demand",
  },
  quota: {
    code: Code.ResourceExhausted,
    text: "Your daily usage quota has been exhausted. Upgrade your plan or wait for the reset: https://windsurf.com/plan",
    short: "Usage quota exhausted",
  },
  weekly_quota: {
    code: Code.ResourceExhausted,
    text: "Your weekly usage quota has been exhausted. Upgrade your plan or wait for the reset: https://windsurf.com/plan",
    short: "Usage quota exhausted",
  },
  content_policy: {
    code: Code.InvalidArgument,
    text: "Your request was blocked by our content policy",
    short: "Blocked",
  },
  invalid_tool_call: {
    code: Code.Internal,
    text: "The model produced an invalid tool call.",
    short: "Invalid tool call",
  },
  internal: { code: Code.Internal, text: `an internal error occurred ${ids} ${trace}`, short: "Internal error" },
  session: {
    code: Code.FailedPrecondition,
    text: `There was an error with your Cascade session, please update your editor ${ids} ${trace}`,
    short: "Cascade session error",
  },
  retired: {
    code: Code.FailedPrecondition,
    text: "This model is no longer available. Please switch to Claude Opus 4.7 Medium.",
    short: "Model retired",
  },
  permission: {
    code: Code.PermissionDenied,
    text: "permission_denied: this model is not included in your plan or tier",
    short: "Not in your plan",
  },
  devin_local: {
    code: Code.PermissionDenied,
    text: "permission_denied: this model is only available in Devin Local",
    short: "Only in Devin Local",
  },
  too_long: {
    code: Code.InvalidArgument,
    text: "could not convert a single message before hitting truncation",
    short: "Prompt too large",
  },
  canceled_stream: { code: Code.Unavailable, text: "pending stream has been canceled", short: "Stream canceled" },
  panel_state: { code: Code.NotFound, text: "panel state not found", short: "Panel state not found" },
  untrusted: { code: Code.FailedPrecondition, text: "untrusted workspace", short: "Untrusted workspace" },
  user_status: { code: Code.Internal, text: "user status is nil", short: "User status is nil" },
  not_found: { code: Code.NotFound, text: "trajectory not found", short: "Not found" },
  removed: {
    code: Code.Unimplemented,
    text: "Cascade has been removed from this version",
    short: "Cascade removed",
  },
  no_key: { code: Code.FailedPrecondition, text: "api_key not set", short: "Not signed in" },
  no_model: {
    code: Code.InvalidArgument,
    text: "neither PlanModel nor RequestedModel specified",
    short: "No model",
  },
  nil_message: { code: Code.InvalidArgument, text: "invalid value: merging into nil message", short: "Nil message" },
} as const satisfies Record<string, UpstreamError>;

/** An error of the language server by a name of ours. Source of every text: docs/dev/wire/language-server.md, "Error texts". */
export type ErrorName = keyof typeof table;
export const errorNames = Object.keys(table) as [ErrorName, ...ErrorName[]]; // keys of the literal above

/** The error as an error step shows it: long text and short text. */
export function errorTexts(name: ErrorName): UpstreamError {
  return table[name];
}

/** The error as the answer of a call; `detail` is put behind the text (`trajectory not found: <id>`). */
export function rpcError(name: ErrorName, detail = ""): ConnectError {
  const { code, text } = table[name];
  return new ConnectError(detail === "" ? text : `${text}: ${detail}`, code);
}
