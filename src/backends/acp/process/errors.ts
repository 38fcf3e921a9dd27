import type { Clock } from "../../../base/clock.ts";
import { type ErrorCode, isMillraceError, MillraceError, type MillraceErrorOptions } from "../../../base/errors.ts";
import { isObject, writeJson } from "../../../base/json.ts";
import { fileProblem } from "../../../base/node/file-problem.ts";
import { quotable } from "../../../base/shown-text.ts";
import { type Symptom, symptomError } from "../../../language-server/errors/symptom.ts";
import type { AcpAgentSpec } from "../known/agent-spec.ts";
import type { Fit } from "../known/own-settings.ts";
import { ProcessLoss, RpcError } from "../wire/rpc-peer.ts";
import { textsIn } from "./error-texts.ts";

/** What translating an error needs: the agent that sent it, and the time. */
export interface ErrorSource {
  readonly spec: Pick<AcpAgentSpec, "name" | "command" | "vendor">;
  readonly clock: Pick<Clock, "now">;
}

interface Row extends Symptom {
  /** JSON-RPC codes that mean this where no row knows the text. */
  readonly codes?: readonly number[];
  /** `_cognition.ai/agent_stopped` causes and `errorKind`s that mean this. */
  readonly causes?: readonly string[];
  readonly text?: RegExp;
}

/** A session that the agent does not know, and one that another process of it has open. */
const unknownSessionCodes = [-32016, -32002];
const lockedCode = -32015;

const signInHint = "Run `devin auth login` in a terminal, or sign in inside Devin Desktop, then try again.";

/**
 * The meaning of an agent's errors. The first row that fits wins: by text, then by cause, then by code. An agent's own `retryable` is
 * not read: quota errors were seen with it. Source: docs/dev/wire/acp.md, "Errors".
 */
const table: readonly Row[] = [
  {
    code: "quota_exhausted",
    message: "The agent's usage quota is used up.",
    text: /quota (?:has been |is )?(?:exhausted|exceeded|used up|reached)|usage (?:quota|limit)|out of credits|insufficient (?:credits|quota|balance)/i,
    codes: [-32011],
    causes: ["quota_exhausted", "resource_exhausted"],
  },
  {
    code: "rate_limited",
    message: "The agent is rate limited.",
    text: /rate.?limit|too many requests|\b429\b/i,
    causes: ["rate_limited", "rate_limit"],
  },
  {
    code: "rate_limited",
    message: "The agent's model is in high demand right now.",
    text: /high demand|at capacity|overloaded|\b529\b/i,
  },
  {
    code: "not_signed_in",
    message: "The agent is not signed in.",
    text: /not (?:logged|signed) in|has not authenticated|authentication required|auth.?required|unauthenticated|\b401\b/i,
    codes: [-32000],
    causes: ["auth_required"],
  },
  {
    code: "model_not_allowed",
    message: "The agent's account may not use this model.",
    text: /model.{0,60}(?:not (?:allowed|available|included|enabled)|requires? (?:a |an )?(?:upgrade|plan))|upgrade (?:your plan|to)/i,
    codes: [-32019],
    causes: ["license", "licence"],
  },
  {
    code: "unknown_model",
    message: "The agent does not know this model.",
    text: /(?:unknown|invalid|unsupported|no such) model|model.{0,80}not found/i,
  },
  {
    code: "context_too_long",
    message: "The conversation is too long for this model.",
    text: /context (?:length|window)|prompt is too long|too many tokens|maximum context/i,
    causes: ["context_too_long"],
  },
  {
    code: "upstream_timeout",
    message: "The agent's model did not answer in time.",
    codes: [-32012],
    causes: ["deadline_exceeded"],
  },
  {
    code: "upstream_failed",
    message: "The agent blocked this request.",
    codes: [-32020],
    causes: ["tool_rejected", "blocked_action"],
    hint: "Look at the agent's own permissions and hooks: one of them may forbid what it tried.",
  },
  {
    code: "upstream_failed",
    message: "Another program has this session open.",
    codes: [lockedCode],
    hint: "Close the session in the other program, or ask again to begin a new one.",
  },
  {
    code: "upstream_failed",
    message: "The agent no longer has this session.",
    text: /invalid session identifier/i,
    codes: unknownSessionCodes,
  },
  { code: "upstream_failed", message: "The agent's service is not available.", codes: [-32010], causes: ["shutdown"] },
  { code: "invalid_request", message: "The agent refused the request.", codes: [-32602] },
];

const other: Row = { code: "upstream_failed", message: "The agent failed." };

const againHint = "Send the request again. `millrace doctor` checks the agent.";

/** A turn of an agent that failed for a reason of Millrace's own finding. */
export function turnFailure(message: string, options: MillraceErrorOptions = {}): MillraceError {
  return new MillraceError("upstream_failed", message, { hint: againHint, ...options });
}

/** An agent that sent nothing for too long. */
export function silence(message: string, cause?: unknown): MillraceError {
  return new MillraceError("upstream_timeout", message, { hint: againHint, ...(cause === undefined ? {} : { cause }) });
}

/** An agent that was not prompted yet, and did not answer. It may still be starting: a later request finds it ready. */
export function slowStart(agent: string, method: string, { isSilent }: { readonly isSilent: boolean }): MillraceError {
  const how = isSilent ? "and has written nothing for 10 s" : "within a minute";
  const message = `The agent "${agent}" has not answered \`${method}\` ${how}. The prompt was not sent.`;
  return new MillraceError("upstream_timeout", message, {
    hint: "It may still be starting: send the request again. `millrace doctor` shows how long its start takes.",
    retryAfterMs: 5_000,
  });
}

/** The program that has the conversation lives and cannot be reached: it may still work on a prompt, so no other one is sent. */
export function notReached(agent: string): MillraceError {
  const message = `The agent "${agent}" still has this conversation, and could not be reached for a minute. Nothing was sent.`;
  return new MillraceError("upstream_timeout", message, {
    hint: "Send the request again. If this repeats, `millrace stop --agents` ends the agent; the next request then begins anew.",
    retryAfterMs: 5_000,
  });
}

/** Anything that a call of an agent threw, as ours. */
export function agentError(error: unknown, source: ErrorSource): MillraceError {
  if (isMillraceError(error)) return error;
  if (error instanceof Error && error.name === "TimeoutError")
    return silence(`The agent "${source.spec.name}" did not answer in time.`, error);
  if (error instanceof ProcessLoss)
    return turnFailure(`The agent's process ended (${error.message}).`, { cause: error });
  if (!(error instanceof RpcError))
    return (
      fileProblem(error) ?? turnFailure("The agent answered in a form that Millrace cannot read.", { cause: error })
    );
  const kind = isObject(error.data) ? error.data["cognition.ai/errorKind"] : undefined;
  const marks: string[] = [];
  const texts = [...new Set([error.message, ...textsIn(error.data, marks, 0)])];
  const detailed = texts.filter((text) => text !== "" && !/^internal error\.?$/i.test(text)); // JSON-RPC's name of the code
  const text = (detailed.length > 0 ? detailed : texts).join("\n");
  const row = rowFor(`${text}\n${marks.join("\n")}`, typeof kind === "string" ? kind : undefined, error.code);
  return fromRow(row, text, source, error);
}

/** The error that a turn's `agent_stopped` cause names; undefined for a cause that is none. */
export function stoppedError(cause: string | undefined, source: ErrorSource): MillraceError | undefined {
  const row = table.find(({ causes }) => cause !== undefined && causes?.includes(cause) === true);
  if (row !== undefined) return fromRow(row, "", source, undefined);
  return cause === "error" ? fromRow(other, "", source, undefined) : undefined;
}

/** Why an agent is not used whose settings are not for the program that answers; undefined where it is used. `command`: its program's name. */
export function unfit(
  agent: string,
  command: string,
  { name, version }: { readonly name: string | undefined; readonly version: string | undefined },
  fit: Fit,
): MillraceError | undefined {
  const itself = `it says that it is "${quotable(`${name ?? "an agent without a name"} ${version ?? ""}`.trim())}"`;
  const refused = (why: string, hint: string) =>
    new MillraceError("model_not_allowed", `Millrace does not use the agent "${agent}": ${itself}, and ${why}.`, {
      hint,
    });
  switch (fit.is) {
    case "other":
      return refused(
        `its command "${command}" does not start that one by name, so it could act with its owner's settings`,
        "Start the agent by its own program in config.toml (`opencode`, `codex-acp`, `claude-agent-acp`, `gemini`, `qwen`), in its newest version, or write `allow_actions = true` into the entry to let it act.",
      );
    case "untried":
      return refused(`the adapter that was tried is ${fit.tried}`, updating(fit.known.npm));
    case "older":
      return refused(`the oldest version that was tried is ${fit.tried.split(" ")[0]}`, updating(fit.known.npm));
    case "newer":
    case "tried":
      return undefined;
  }
}

function updating(npm: string): string {
  return `Install the newest version: \`npm install -g ${npm}@latest\`. Then start it by its own program in config.toml.`;
}

/**
 * Does `work` once more where the agent's process ended meanwhile, or was killed while it started. `work` must not send a prompt.
 * A row of docs/dev/turn-machine.md.
 */
export async function twiceIfKilled<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProcessLoss) && !wasKilledAtStart(error)) throw error;
    return await work();
  }
}

/** Whether a process was killed while it started; a process that exits on its own at the start would do so again. */
function wasKilledAtStart(error: unknown): boolean {
  return isMillraceError(error) && error.cause instanceof ProcessLoss && error.cause.message.startsWith("signal ");
}

/** Whether the agent says that it has no such session. */
export function isUnknownSession(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false;
  return (
    unknownSessionCodes.includes(error.code) ||
    /session.{0,80}not found|(?:unknown|no such) session|invalid session identifier/i.test(
      `${error.message} ${writeJson(error.data ?? "")}`.slice(0, 4_096),
    )
  );
}

/** Whether the agent's content filter ended the prompt: a finish reason rather than an error. */
export function isContentFilter(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false;
  return error.code === -32017 || (isObject(error.data) && error.data["cognition.ai/errorKind"] === "content_filter");
}

/** Whether another process of the agent has the session open. */
export function isLockedSession(error: unknown): boolean {
  return error instanceof RpcError && (error.code === lockedCode || /session.{0,40}locked/i.test(error.message));
}

function rowFor(text: string, cause: string | undefined, code: number): Row {
  const head = text.slice(0, 4_096);
  return (
    table.find((row) => row.text?.test(head) === true) ??
    table.find(({ causes }) => cause !== undefined && causes?.includes(cause) === true) ??
    table.find(({ codes }) => codes?.includes(code) === true) ??
    other
  );
}

function fromRow(row: Row, text: string, source: ErrorSource, cause: unknown): MillraceError {
  const hint = row.hint ?? hintFor(row.code, source.spec);
  const quoted = row === other && text !== "" ? ` It says: "${quotable(text)}"` : "";
  const message = row.message.replace("The agent", `The agent "${source.spec.name}"`) + quoted;
  const said = { code: row.code, message, ...(hint === undefined ? {} : { hint }) };
  return symptomError(said, text, { nowMs: source.clock.now(), cause });
}

function hintFor(code: ErrorCode, { command, vendor }: ErrorSource["spec"]): string | undefined {
  if (code === "not_signed_in")
    return vendor === "devin"
      ? signInHint
      : `Sign in with the agent's own command: start \`${command}\` in a terminal, then try again.`;
  if (code === "upstream_failed") return againHint;
  return undefined;
}
