import type { Symptom } from "./symptom.ts";

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

/** Every exact failure, finer than the codes, with the kind of the call that failed so. */
export const failureKinds = {
  connection_refused: "not_sent",
  tls_refused: "not_sent",
  connection_lost: "interrupted",
  unavailable: "interrupted",
  upstream_dropped: "interrupted",
  answer_too_large: "interrupted",
  server_error: "interrupted",
  /** The server failed in a way that leaves open how far it came. */
  unclear: "interrupted",
  csrf_refused: "unauthenticated",
  /** The answer is in no form of the protocol: something else listens there. */
  not_the_server: "interrupted",
  panel_state_lost: "panel_state_missing",
  cascade_unknown: "trajectory_missing",
  not_implemented: "unimplemented",
  /** Cascade was removed from this build: the IDE's agent answers instead. */
  retired: "retired",
  /** Cascade no longer answers this model: the IDE's agent does. */
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
  /** A refusal in words that no row of the table has. */
  other: "refused",
} as const satisfies Readonly<Record<string, CallFailureKind>>;

export type UpstreamReason = keyof typeof failureKinds;

export interface UpstreamSymptom extends Symptom {
  readonly pattern: RegExp;
  readonly reason: UpstreamReason;
}

const restartHint = "The IDE may have restarted its server. Try again; if it fails again, restart the IDE.";
const agentHint =
  "Send the request again: with `--backend auto` it then goes to the IDE's agent. Or set `--backend acp`.";
const schemaHint = "This build of the IDE may have changed its protocol; run `millrace doctor`.";

/**
 * What a language server writes, and what it means; the first match wins. The text may come as a gRPC
 * trailer, in a Connect error, as an in-band `is_error` message or in an error step. The recorded text of every row is in
 * `errors.test.ts`. Source: docs/dev/wire/language-server.md, "Error texts", "CSRF token refused";
 * docs/dev/wire/devin-desktop.md, "Cascade".
 */
export const upstreamSymptoms: readonly UpstreamSymptom[] = [
  {
    pattern: /^unsupported content type /m,
    code: "upstream_failed",
    reason: "not_the_server",
    message: "Another program answered on the IDE's port.",
    hint: "Try again: Millrace then uses another port of the IDE. `millrace doctor` shows which one.",
  },
  {
    pattern: /\bonly (?:available |supported |offered )?(?:in|with|through|via) Devin(?: Local)?\b/i,
    code: "backend_retired",
    reason: "model_moved",
    message: "This model is available in Devin Local only, no longer over Cascade.",
    hint: agentHint,
  },
  {
    pattern:
      /\bCascade\b[^.]{0,60}\b(?:retired|removed|discontinued|deprecated|sunset|end of life|no longer (?:available|supported|offered))\b/i,
    code: "backend_retired",
    reason: "retired",
    message: "Cascade was removed from this build of the IDE.",
    hint: agentHint,
  },
  {
    pattern:
      /\b(?:Windsurf|Devin Desktop|Devin|editor|client) version is (?:out of date|outdated|no longer supported)\b/i,
    code: "backend_retired",
    reason: "retired",
    message: "The vendor no longer accepts prompts from this build of the IDE.",
    hint: "Update the IDE to the current Devin Desktop. Or use its agent: leave `--backend` at `auto`, or set it to `acp`.",
  },
  {
    pattern: /(?:missing|invalid) csrf token/i,
    code: "upstream_failed", // `unauthenticated` is about the gateway's own key
    reason: "csrf_refused",
    message: "The IDE's server refused the CSRF token.",
    hint: restartHint,
  },
  {
    pattern: /panel state not found/i,
    code: "upstream_failed",
    reason: "panel_state_lost",
    message: "The IDE's server is still starting, or was restarted.",
    hint: "Try again in a moment.",
  },
  {
    pattern: /user status is nil/i,
    code: "not_signed_in",
    reason: "account_not_loaded",
    message: "The IDE's server has not loaded the account yet.",
    hint: "Wait until the IDE shows that you are signed in, then try again.",
  },
  {
    pattern: /untrusted workspace/i,
    code: "upstream_failed",
    reason: "untrusted_workspace",
    message: "The IDE does not trust the folder that is open in it.",
    hint: "Trust the folder in the IDE (Workspace Trust), then try again.",
  },
  {
    pattern:
      /\b(?:invalid|unknown|expired|revoked|bad|wrong|unrecognized)\b[^.]{0,20}\b(?:api[ _-]?key|session token|credentials?)\b|\b(?:api[ _-]?key|session token|credentials?)\b[^.]{0,30}\b(?:invalid|unknown|expired|revoked|not valid|not recognized)\b/i,
    code: "not_signed_in",
    reason: "api_key_refused",
    message: "The IDE's server refused the API key that is stored on this machine.",
    hint: "Sign in inside the IDE again. `millrace doctor` shows from which folder the key was read.",
  },
  {
    pattern: /api_key not set|read initial metadata/i,
    code: "not_signed_in",
    reason: "api_key_missing",
    message: "The IDE's server has no API key: no account is signed in.",
  },
  {
    pattern: /is deprecated :\)|is not implemented/i,
    code: "upstream_failed",
    reason: "not_implemented",
    message: "This build of the IDE does not support this request.",
    hint: "Update the IDE. `millrace doctor` shows what its server supports.",
  },
  {
    pattern: /error with your Cascade session/i,
    code: "upstream_failed",
    reason: "session_refused",
    message: "The IDE's server refused the request: this build accepts it only from the editor itself.",
    hint: "Update the IDE to 1.9577 or later and Millrace to its newest version, then run `millrace doctor`.",
  },
  {
    pattern: /no longer available/i,
    code: "unknown_model",
    reason: "model_retired",
    message: "This model has been retired.",
  },
  {
    pattern:
      /neither PlanModel nor RequestedModel|unknown model (?:UID|key)|model not found|model aliases are no longer supported|invalid value for enum field requested_?Model/i,
    code: "unknown_model",
    reason: "model_unknown",
    message: "The IDE's server does not know this model.",
  },
  {
    pattern:
      /(?:trajectory|cascade)[^.]*not found|not_found[^.]*(?:cascade|trajectory)|(?:cascade|trajectory|conversation)\b[^.]*\bexpired/i,
    code: "upstream_failed",
    reason: "cascade_unknown",
    message: "The IDE's server no longer has this conversation.",
    hint: "Send the request again: Millrace starts a new conversation with the full history.",
  },
  {
    pattern:
      /merging into nil message|invalid UTF-8|invalid wire-format|protocol error: promised|parse (?:binary|JSON):/i,
    code: "upstream_failed",
    reason: "schema_mismatch",
    message: "The IDE's server and Millrace do not understand each other's messages.",
    hint: schemaHint,
  },
  {
    pattern: /larger than configured readMaxBytes/i,
    code: "upstream_failed",
    reason: "answer_too_large",
    message: "The answer of the IDE's server is larger than Millrace accepts.",
    hint: "Start a new conversation; this one has grown too large.",
  },
  {
    pattern: /pending stream has been cancell?ed/i,
    code: "upstream_failed",
    reason: "upstream_dropped",
    message: "The IDE's server lost its connection to the vendor.",
  },
  {
    pattern: /before hitting truncation|context (?:length|window) exceeded|prompt is too long/i,
    code: "context_too_long",
    reason: "prompt_too_long",
    message: "The prompt is too long for this model.",
  },
  {
    pattern: /invalid tool call/i,
    code: "upstream_failed",
    reason: "bad_tool_call",
    message: "The model produced an invalid tool call.",
  },
  {
    pattern: /content policy/i,
    code: "invalid_request",
    reason: "content_policy",
    message: "The request was blocked by the content policy of the model's vendor.",
    hint: "Rephrase the request.",
  },
  {
    pattern: /quota|out of credits|insufficient credits|RESOURCE_EXHAUSTED|\b429\b/i,
    code: "quota_exhausted",
    reason: "quota",
    message: "The plan's usage quota is used up.",
  },
  {
    pattern: /rate limit|too many requests/i,
    code: "rate_limited",
    reason: "rate",
    message: "The message rate limit for this model is reached.",
  },
  {
    pattern: /high demand|at capacity|overloaded/i,
    code: "rate_limited",
    reason: "capacity",
    message: "The model is in high demand right now.",
    hint: "Try again in a minute or pick another model.",
  },
  {
    pattern:
      /(?:permission_denied|not (?:allowed|available|included)|upgrade|requires)\b.*\b(?:plan|tier|subscription|pro)\b/i,
    code: "model_not_allowed",
    reason: "plan_refused",
    message: "The plan of this account does not include the model.",
  },
  {
    pattern: /internal error occurred|\(trace ID: /i,
    code: "upstream_failed",
    reason: "server_error",
    message: "The IDE's server had an internal error.",
    hint: "Try again; such errors usually go away.",
  },
  {
    pattern:
      /http\/2 (?:stream|connection|session)|session (?:has been|was) (?:destroyed|closed)|missing (?:status|trailer|EndStreamResponse)|incomplete envelope|premature (?:EOF|close)|socket hang up|sentinel completed early|connection aborted|GOAWAY/i,
    code: "upstream_failed",
    reason: "connection_lost",
    message: "The connection to the IDE's server broke.",
    hint: restartHint,
  },
];

/** Node's codes of sockets, HTTP and TLS, by prefix; first match wins. Source: docs/dev/wire/language-server.md, "Error texts". */
export const nodeSymptoms: readonly UpstreamSymptom[] = [
  {
    pattern: /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/,
    code: "ide_not_running",
    reason: "connection_refused",
    message: "The IDE's server is no longer running on its port.",
  },
  {
    pattern: /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT)/,
    code: "upstream_failed",
    reason: "tls_refused",
    message:
      "The server's certificate is not trusted. Millrace accepts self-signed certificates from this machine only.",
    hint: "Use 127.0.0.1 as host, or a server with a certificate that this machine trusts.",
  },
  {
    pattern: /^(?:EPROTO|ERR_SSL|ERR_TLS)/,
    code: "upstream_failed",
    reason: "tls_refused",
    message: "The server does not speak TLS as expected.",
    hint: "Check the configured endpoint; `millrace doctor` probes it.",
  },
  {
    pattern: /^ETIMEDOUT$|^ESOCKETTIMEDOUT$/,
    code: "upstream_timeout",
    reason: "connection_lost",
    message: "The IDE's server did not answer in time.",
  },
  {
    pattern: /^(?:ECONNRESET|ECONNABORTED|EPIPE|ERR_HTTP2|ERR_STREAM|ERR_SOCKET|HPE_)/,
    code: "upstream_failed",
    reason: "connection_lost",
    message: "The connection to the IDE's server broke.",
    hint: restartHint,
  },
];
