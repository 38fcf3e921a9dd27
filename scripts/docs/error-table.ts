import { type ErrorCode, errorCodes } from "../../src/base/errors.ts";
import { exitCodeFor } from "../../src/cli/terminal/exit-codes.ts";
import { encodeAnthropicError } from "../../src/gateway/dialects/anthropic-messages/errors.ts";
import { encodeOpenAiError } from "../../src/gateway/dialects/openai-errors.ts";
import { list } from "./markdown.ts";

/** Why each error happens, for a person who has just seen it. */
const causes: Readonly<Record<ErrorCode, string>> = {
  ide_not_running: "No IDE and no agent program that Millrace could ask. It looks again at the next request.",
  not_signed_in: "The IDE or its agent runs, but no account is signed in, or its key was refused.",
  consent_needed: "The first prompt to an IDE needs your consent, once. No prompt was sent.",
  unauthenticated: "The request has no key, or another key than this gateway's.",
  unknown_model: "The name fits no model of the account.",
  model_not_allowed: "The model exists, but the plan of the account does not include it.",
  quota_exhausted: "The plan's quota is used up, until `resets_at` in the body if the IDE says it.",
  rate_limited: "Too many messages in a short time, or the model is overloaded.",
  context_too_long: "The conversation is longer than the model can read.",
  invalid_request:
    "Something in the request, the command line or a setting is wrong; `param` names it. No prompt was sent.",
  idempotency_conflict: "The same `Idempotency-Key` or cursor came with a different body.",
  backend_retired: "This build of the IDE no longer answers over Cascade.",
  upstream_failed: "The IDE, its server or its agent failed. Millrace does not send a prompt a second time by itself.",
  upstream_timeout: "The IDE, its server or its agent stayed silent for too long.",
  cancelled: "The client, the IDE, a newer request of the session, or the end of the grace time ended the turn.",
  degraded: "The disk is full, read-only or locked. Answers continue from memory.",
  unavailable:
    "The gateway stops, restarts, or has too many open requests. The turn is not lost: send the same request again.",
  expired: "The answer's time (`--retention`) is over.",
  internal: "A bug in Millrace.",
};

/** Every code: its status over HTTP, the exit code of a command, and why it happens. What to do is in the error itself. */
export function errorList(): string {
  return list(errorCodes.map(lineOf));
}

function lineOf(code: ErrorCode): readonly [name: string, meaning: string] {
  const error = { code, message: "", hint: "" };
  const [openAi, anthropic] = [encodeOpenAiError(error, "").status, encodeAnthropicError(error, "").status];
  const status = openAi === anthropic ? `${openAi}` : `${openAi}, Anthropic ${anthropic}`;
  return [`\`${code}\` (${status}; exit ${exitCodeFor({ code, param: undefined })})`, causes[code]];
}
