import { MillraceError, unusableAnswer } from "../../../base/errors.ts";
import { quotable } from "../../../base/shown-text.ts";
import type { FinishReason, TurnEventBody } from "../../../log/event.ts";
import type { AcpAgentSpec } from "../known/agent-spec.ts";
import { hasNoTools } from "../known/own-settings.ts";
import {
  agentError,
  type ErrorSource,
  isContentFilter,
  silence,
  stoppedError,
  turnFailure,
} from "../process/errors.ts";
import type { PromptEnd } from "../session/running-prompt.ts";
import type { Effect, UpdateReader } from "../session/updates.ts";

/** The agent of a turn, and the time. */
type Source = ErrorSource & { readonly spec: AcpAgentSpec };

/** The meaning of ACP's stop reasons, and of Devin's causes beside them. */
const reasons: Readonly<Record<string, FinishReason["unified"] | "cancelled">> = {
  end_turn: "stop",
  complete: "stop",
  max_tokens: "length",
  output_truncated: "length",
  max_turn_requests: "length",
  refusal: "content_filter",
  content_filter: "content_filter",
  cancelled: "cancelled",
  interrupted: "cancelled",
};

/**
 * The terminal event of a prompt that has ended. A tool step with an effect takes precedence over everything else. Devin's own cause
 * takes precedence over ACP's stop reason, which is `end_turn` for many failures. Both ends name the tools that the agent read with.
 * Source: docs/dev/wire/acp.md, "Prompts".
 */
export function conclude(
  end: Exclude<PromptEnd, { readonly type: "died" }>,
  reader: UpdateReader,
  source: Source,
): TurnEventBody {
  const last = withNotice(endOf(end, reader, source), reader);
  const ideTools = source.spec.allowsActions === true ? [...reader.looked, ...reader.changed] : reader.looked;
  return ideTools.length === 0 || last.type === "cancelled" ? last : { ...last, ideTools };
}

/** The most permissions that a turn may ask for. Devin was seen to try six to nine times after a rejection. */
const mostPermissions = 20;

/** Whether the turn ends here, although the agent goes on: it acts, it asks its user, or it asks for permission without end. */
export function endsHere(reader: UpdateReader, spec: AcpAgentSpec): boolean {
  if (reader.isQuestion || reader.permissions > mostPermissions) return true;
  const step = ownStep(reader, spec);
  // a model may name a tool that is not there: that step fails in a moment, and the answer goes on
  return step !== undefined && (reader.effect !== undefined || step.state === "done");
}

/** The step of the agent's own that its turn may not have: one with an effect, and any at all of an agent whose tools were taken away. */
function ownStep({ effect, use }: UpdateReader, spec: AcpAgentSpec): Effect | undefined {
  if (spec.allowsActions === true) return undefined;
  return effect ?? (use !== undefined && hasNoTools(spec) ? use : undefined);
}

/**
 * Whether the agent gets the client's tools in prose from the next turn on: it used its own instead, or it shows calls of the client's as
 * steps with an effect, which end each turn. Not where its own were taken away and its model named one all the same. `isUsed`: it asked for the client's tools.
 */
export function ignoresTools(reader: UpdateReader, isUsed: boolean, spec: AcpAgentSpec): boolean {
  if (hasNoTools(spec) && reader.use?.state !== "done") return false;
  return (!isUsed || reader.effect !== undefined) && reader.prefersOwnTools;
}

type End = Extract<TurnEventBody, { readonly type: "finished" | "failed" | "cancelled" }>;

function endOf(end: Exclude<PromptEnd, { readonly type: "died" }>, reader: UpdateReader, source: Source): End {
  const { text } = reader.answer;
  const agent = source.spec.name;
  const step = ownStep(reader, source.spec);
  if (step !== undefined) return failed(effectError(step, agent));
  if (reader.isQuestion) return finished("stop", "agent_question", text);
  if (reader.permissions > mostPermissions) return failed(turnFailure(askedTooOften(agent)));
  if (end.type === "silent")
    return failed(silence(end.inLine ? halfLineMessage : reader.isRetrying ? retryMessage : silentMessage));
  if (end.type === "refused") {
    if (isContentFilter(end.error)) return finished("content_filter", "content_filter", text);
    const error = agentError(end.error, source);
    const saysMore = error.code === "upstream_failed" && reader.stopped !== "error"; // that names no cause
    return failed((saysMore ? stoppedError(reader.stopped, source) : undefined) ?? error);
  }
  const cause = reader.stopped === "complete" ? undefined : reader.stopped; // that says less than the stop reason does
  const raw = cause ?? end.stopReason;
  const unified = reasons[raw];
  if (unified === undefined) {
    const error = stoppedError(raw, source);
    if (error !== undefined) return failed(error);
  }
  if (unified === "cancelled") return { type: "cancelled", by: "ide" };
  if ((unified ?? "stop") === "stop" && (text === "" || reader.endsRefused)) return failed(unanswered(reader));
  return finished(unified ?? "stop", raw, text);
}

/** What an agent did, by the kind of its tool. */
const deeds: Readonly<Record<string, string>> = {
  edit: "changed a file",
  delete: "deleted a file",
  move: "moved a file",
  execute: "ran a command",
  read: "read something",
  search: "searched for something",
  fetch: "fetched something",
};

/** An answer that cannot be used because the agent set out to change something, or did it. */
function effectError({ name, kind, title, state }: Effect, agent: string): MillraceError {
  const words = title === "" ? "" : `: ${title}`;
  const messages = {
    done: `The agent "${agent}" ${deeds[kind] ?? "used its own tool"}${words}. Millrace could not prevent it, and stopped the turn.`,
    begun:
      `The agent "${agent}" began to use its own tool (${name}). Millrace stopped the turn, and cannot tell whether the tool ` +
      "changed something.",
    prevented: `The agent wanted to use its own tool (${name}), so Millrace stopped the turn.`,
  };
  const hints = {
    done: "Look at what it changed. The agent's own settings let it act: correct them, or remove the agent from config.toml.",
    begun: "Look at what it may have changed before you send the request again.",
    prevented: "Millrace asks agents for answers only. Try again, or pick another model if this one keeps doing it.",
  };
  return new MillraceError("upstream_failed", messages[state], {
    hint: hints[state],
    details: { reason: unusableAnswer, ...(state === "prevented" ? {} : { effect: state }) },
  });
}

function finished(unified: FinishReason["unified"], raw: string, text: string): End {
  return { type: "finished", reason: { unified, raw }, text };
}

function failed(error: MillraceError): End {
  return { type: "failed", error: error.toRecord() };
}

/** What the agent says about the plan may be why it failed. */
function withNotice(end: End, { billing }: UpdateReader): End {
  if (end.type !== "failed" || billing === undefined) return end;
  return { ...end, error: { ...end.error, message: `${end.error.message} The agent says: "${quotable(billing)}"` } };
}

function unanswered({ endsRefused }: UpdateReader): MillraceError {
  const message = endsRefused
    ? "Millrace did not allow a tool that the agent wanted to use, and the agent gave no answer."
    : "The agent accepted the prompt, but ended without an answer.";
  return turnFailure(message, { details: { reason: unusableAnswer } });
}

function askedTooOften(agent: string): string {
  return `The agent "${agent}" asked for permission ${mostPermissions} times and was refused each time, so Millrace stopped the turn.`;
}

const silentMessage = "The agent was silent for too long. The part that arrived was kept.";
const retryMessage =
  "The agent lost its connection to the model and could not restore it in time. The part that arrived was kept.";
const halfLineMessage = "The agent stopped in the middle of a message. The part that arrived was kept.";
