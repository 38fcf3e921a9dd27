import { defaultHints, type ErrorCode } from "../../src/base/errors.ts";
import { exitCodeFor } from "../../src/cli/terminal/exit-codes.ts";
import { encodeAnthropicError, encodeOpenAiError } from "../../src/gateway/dialects/errors.ts";
import { table } from "./markdown.ts";

/** Why each error happens, for a person who has just seen it. */
const causes: Readonly<Record<ErrorCode, string>> = {
  ide_not_running: "Millrace found no IDE and no agent program that it could ask. It looks again at the next request.",
  not_signed_in: "The IDE or its agent runs, but no account is signed in, or its key was refused.",
  consent_needed: "The first prompt to an IDE needs your consent, once. No prompt was sent.",
  unauthenticated: "The request has no key, or another key than this gateway's.",
  unknown_model: "The name fits no model of the account.",
  model_not_allowed: "The model exists, but the plan of the account does not include it.",
  quota_exhausted: "The plan's quota is used up. `resets_at` in the body says until when, if the IDE says it.",
  rate_limited: "Too many messages in a short time, or the model is overloaded.",
  context_too_long: "The conversation is longer than the model can read.",
  invalid_request:
    "Something in the request, the command line or a setting is not understood; `param` names it. No prompt was sent.",
  idempotency_conflict: "The same `Idempotency-Key` or cursor came with a different body.",
  backend_retired: "This build of the IDE no longer answers over Cascade.",
  upstream_failed: "The IDE, its server or its agent failed. Millrace does not send a prompt a second time by itself.",
  upstream_timeout: "The IDE, its server or its agent stayed silent for too long.",
  cancelled: "The client, the IDE, a newer request of the same session, or the end of the grace time ended the turn.",
  degraded: "The disk is full, read-only or locked. Answers continue from memory.",
  unavailable: "The gateway is stopping, restarting, or has too many open requests. The turn is not lost.",
  expired: "The answer was kept for its time (`--retention`) and was then deleted.",
  internal: "A bug in Millrace.",
};

const codes = Object.keys(defaultHints) as readonly ErrorCode[]; // its type says so

/** Every code: its status over HTTP, the exit code of a command, why it happens, and what to do. */
export function errorTable(): string {
  return table(["code", "HTTP", "exit code", "what happened", "what to do"], codes.map(cells));
}

function cells(code: ErrorCode): readonly string[] {
  const error = { code, message: "", hint: "" };
  const [openAi, anthropic] = [encodeOpenAiError(error, "").status, encodeAnthropicError(error, "").status];
  const status = openAi === anthropic ? `${openAi}` : `${openAi} (Anthropic: ${anthropic})`;
  return [`\`${code}\``, status, `${exitCodeFor({ code, param: undefined })}`, causes[code], defaultHints[code]];
}
