import type { ErrorRecord } from "../../base/errors.ts";
import type { WireError } from "./dialect.ts";
import { inPlainWords } from "./plain-words.ts";
import { finalStatus, isLongRefusal, isToldAgain, isUnusableAnswer } from "./retry-headers.ts";

/** A client for which the usual answer to a failure does not end its retries, or hides the reason from its user. */
interface Client {
  readonly userAgent: RegExp;
  /** The status on which it stops, in place of any other 4xx. */
  readonly finalStatus?: number;
  /** It waits in silence for a refusal's `retry-after`, or shows no reason for a 429: the first refusal is final for it. */
  readonly firstRefusalIsFinal?: true;
  /** It shows the whole body to its user: only the message stays. */
  readonly showsBody?: true;
  /** What in a final error's body makes it repeat the request, with any status. */
  readonly repeatsOn?: RegExp;
}

/** The words of OpenCode 1.18.33 and pi 0.86.1. Any number with such digits counts, a request id too. */
const repeatedWords = new RegExp(
  [
    "429|50[0234]|52[04]|rate increased too quickly|rate.?limit|too many requests|overloaded|experiencing high demand",
    "service.?unavailable|internal.?error|internal server error|server.?error|provider.?returned.?error|terminated",
    "fetch failed|failed to fetch|network.?error|upstream.?connect|connection.?(?:error|refused|lost)|other side closed",
    "socket (?:connection was closed|hang up)|reset before headers|getaddrinfo|enotfound|eai_again|econnrefused",
    "econnreset|etimedout|timeout|timed? out|websocket.?(?:closed|error)|ended without|stream ended before|retry delay",
    "(?:try|retry) your request|resource[ _]?exhausted|try again (?:later|in)\\b|at capacity",
  ].join("|"),
  "i",
);

/**
 * The clients that need an answer of their own. Source: docs/clients.md, "After a failure".
 *
 * - Codex repeats a request up to five times after every status but 400, 404 and 429. After a 429 it shows the number only.
 * - OpenCode waits for `retry-after` in silence, and repeats a 4xx whose body has one of its words. So does pi.
 * - Qwen Code, the Vercel AI SDK, and Cline with it, wait for `retry-after` in silence.
 * - LangChain repeats a request up to six times after every status but 400 to 407 and 409, and waits longer each time.
 */
const clients: readonly Client[] = [
  { userAgent: /^codex[_-]/i, finalStatus: 400, firstRefusalIsFinal: true, showsBody: true },
  { userAgent: /^opencode\//i, firstRefusalIsFinal: true, repeatsOn: repeatedWords },
  { userAgent: /^pi \(/i, firstRefusalIsFinal: true, repeatsOn: repeatedWords },
  { userAgent: /^ai-sdk[/-]/i, firstRefusalIsFinal: true },
  { userAgent: /^QwenCode\//i, firstRefusalIsFinal: true },
  { userAgent: /^langchain/i, finalStatus: 400, firstRefusalIsFinal: true },
];

/** The error in the form on which the client that asks stops and shows why. */
export function forClient(wire: WireError, error: ErrorRecord, userAgent: string | null): WireError {
  const client = userAgent === null ? undefined : clients.find((known) => known.userAgent.test(userAgent));
  if (client === undefined) return wire;
  const isFinal =
    isToldAgain(error) ||
    isUnusableAnswer(error) ||
    error.code === "ide_not_running" ||
    (client.firstRefusalIsFinal === true && isLongRefusal(error));
  const status = isFinal ? (client.finalStatus ?? finalStatus(wire.status, error)) : wire.status;
  const said = isFinal && client.showsBody === true ? onlyMessage(wire.body) : wire.body;
  const mayRepeat = status >= 500 || status === 408 || status === 409 || status === 429;
  const body = client.repeatsOn === undefined || mayRepeat ? said : inPlainWords(said, client.repeatsOn);
  return { ...wire, status, body };
}

/** An error's body without what is there for programs. */
function onlyMessage(body: unknown): unknown {
  if (typeof body !== "object" || body === null || !("error" in body)) return body;
  const { error } = body;
  if (typeof error !== "object" || error === null || !("message" in error)) return body;
  const { message } = error;
  const member = (name: string) => (name in error ? { [name]: (error as Record<string, unknown>)[name] } : {});
  return { ...body, error: { message, ...member("type"), ...member("param"), ...member("code") } };
}
