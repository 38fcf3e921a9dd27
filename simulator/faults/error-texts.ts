import { Code, ConnectError } from "@connectrpc/connect";

/** One upstream failure of a turn: the user's text, and the code when the call itself carries it. */
interface UpstreamError {
  readonly code: Code;
  readonly text: string;
  readonly short: string;
}

const ids = "(error ID: 5f1c2d3e4b5a69788796a5b4c3d2e1f0)";
const trace = "(trace ID: 0af7651916cd43dd8448eb211c80319c)";

const usedUp = (window: string) =>
  `Your ${window} usage quota has been exhausted. Upgrade your plan or wait for the reset: https://windsurf.com/plan`;
const denied = (why: string) => `permission_denied: this model is ${why}`;
const error = (code: Code, short: string, text: string): UpstreamError => ({ code, short, text });
const {
  ResourceExhausted,
  Unavailable,
  InvalidArgument,
  Internal,
  FailedPrecondition,
  PermissionDenied,
  NotFound,
  Unimplemented,
} = Code;

const table = {
  rate_limit: error(
    ResourceExhausted,
    "Rate limit reached",
    "Reached message rate limit for this model. Please try again later. Resets in: 3h0m0s",
  ),
  high_demand: error(
    Unavailable,
    "High demand",
    "We're currently facing high demand for this model. Please try again later.",
  ),
  quota: error(ResourceExhausted, "Usage quota exhausted", usedUp("daily")),
  weekly_quota: error(ResourceExhausted, "Usage quota exhausted", usedUp("weekly")),
  content_policy: error(InvalidArgument, "Blocked", "Your request was blocked by our content policy"),
  invalid_tool_call: error(Internal, "Invalid tool call", "The model produced an invalid tool call."),
  internal: error(Internal, "Internal error", `an internal error occurred ${ids} ${trace}`),
  session: error(
    FailedPrecondition,
    "Cascade session error",
    `There was an error with your Cascade session, please update your editor ${ids} ${trace}`,
  ),
  retired: error(
    FailedPrecondition,
    "Model retired",
    "This model is no longer available. Please switch to Claude Opus 4.7 Medium.",
  ),
  permission: error(PermissionDenied, "Not in your plan", denied("not included in your plan or tier")),
  devin_local: error(PermissionDenied, "Only in Devin Local", denied("only available in Devin Local")),
  too_long: error(InvalidArgument, "Prompt too large", "could not convert a single message before hitting truncation"),
  canceled_stream: error(Unavailable, "Stream canceled", "pending stream has been canceled"),
  panel_state: error(NotFound, "Panel state not found", "panel state not found"),
  untrusted: error(FailedPrecondition, "Untrusted workspace", "untrusted workspace"),
  user_status: error(Internal, "User status is nil", "user status is nil"),
  not_found: error(NotFound, "Not found", "trajectory not found"),
  removed: error(Unimplemented, "Cascade removed", "Cascade has been removed from this version"),
  no_key: error(FailedPrecondition, "Not signed in", "api_key not set"),
  no_model: error(InvalidArgument, "No model", "neither PlanModel nor RequestedModel specified"),
  nil_message: error(InvalidArgument, "Nil message", "invalid value: merging into nil message"),
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
