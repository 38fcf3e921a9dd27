import type { ErrorRecord } from "../../base/errors.ts";
import { parseJson, writeJson } from "../../base/json.ts";
import type { WireError, WireEvent } from "./dialect.ts";
import { finalStatus, inPlainWords, isFinal, isLongRefusal } from "./errors.ts";

/** A client for which the usual answer to a failure does not end its retries, or hides the reason from its user. */
interface Client {
  readonly userAgent: RegExp;
  /** The status on which it stops, in place of any other 4xx. */
  readonly finalStatus?: number;
  /** It waits in silence for a refusal's `retry-after`, or shows no reason for a 429: the first refusal is final for it. */
  readonly firstRefusalIsFinal?: true;
  /** It repeats every error in a stream, four seconds later and more: its first repeat gets the same failure, and no prompt. */
  readonly repeatsLate?: true;
  /** It shows the whole body to its user: only the message stays. */
  readonly showsBody?: true;
  /** A pattern in a final error's body that makes the client repeat the request, with any status. */
  readonly repeatsOn?: RegExp;
  /** Set for a client that continues after an error in a stream, with another body each time: the first such error is already final. */
  readonly streamErrorIsFinal?: true;
}

/** The words of OpenCode 1.18.33, Kilo 7.7.7 and pi 0.86.1. Any number with such digits counts, a request id too. */
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
 * - OpenCode and Kilo wait for `retry-after` in silence, and repeat a 4xx whose body has one of their words. So does pi.
 * - Qwen Code waits for `retry-after` in silence.
 * - droid repeats a 429 five times in 90 s, and a 5xx ten times in four minutes, in silence. It repeats an error in a stream after
 *   four seconds and again after seven, for any error.
 * - Qwen Code waits a minute after a rate limit in a stream and asks again, ten times. After any other error of a stream it asks
 *   for the rest of the answer, three times. It does neither where the error's type is `invalid_request_error`.
 * - Gemini CLI shows the whole body to its user.
 * - LangChain repeats a request up to six times after every status but 400 to 407, 409 and 413, and waits longer each time. After a
 *   429 it waits for `retry-after` first, in silence.
 */
const clients: readonly Client[] = [
  { userAgent: /^codex[_-]/i, finalStatus: 400, firstRefusalIsFinal: true, showsBody: true },
  { userAgent: /^(?:opencode|kilo-code)\//i, firstRefusalIsFinal: true, repeatsOn: repeatedWords },
  { userAgent: /^pi \(/i, firstRefusalIsFinal: true, repeatsOn: repeatedWords },
  { userAgent: /^factory-cli\//i, firstRefusalIsFinal: true, repeatsLate: true },
  { userAgent: /^QwenCode\//i, firstRefusalIsFinal: true, streamErrorIsFinal: true },
  { userAgent: /^GeminiCLI/i, showsBody: true },
  { userAgent: /^langchain/i, firstRefusalIsFinal: true, finalStatus: 400 },
];

/**
 * The name of the client that asks. LangChain's model of Anthropic's API goes by the name of Anthropic's SDK; it alone sends that SDK's
 * header for browsers from a server.
 */
export function clientName(headers: Headers): string | null {
  const userAgent = headers.get("user-agent");
  const isLangChain =
    headers.has("anthropic-dangerous-direct-browser-access") && userAgent?.startsWith("Anthropic/JS ");
  return isLangChain ? `langchain, by ${userAgent}` : userAgent;
}

/** The error in the form on which the client that asks stops and shows why. */
export function forClient(wire: WireError, error: ErrorRecord, userAgent: string | null): WireError {
  const client = clientOf(userAgent);
  if (client === undefined) return wire;
  const isEnd = isFinalFor(client, error) || error.code === "ide_not_running";
  const status = isEnd ? (client.finalStatus ?? finalStatus(wire.status, error)) : wire.status;
  const said = isEnd && client.showsBody === true ? onlyMessage(wire.body) : wire.body;
  const mayRepeat = status >= 500 || status === 408 || status === 409 || status === 429;
  const body = client.repeatsOn === undefined || mayRepeat ? said : withoutWords(said, client.repeatsOn);
  return { ...wire, status, body };
}

/** Whether the client repeats a request seconds later after every failure in the middle of an answer, without its user. */
export function repeatsLate(userAgent: string | null): boolean {
  return clientOf(userAgent)?.repeatsLate === true;
}

/** A stream's events of an error, in the form on which the client that reads them stops. */
export function streamErrorForClient(
  events: readonly WireEvent[],
  error: ErrorRecord,
  userAgent: string | null,
): readonly WireEvent[] {
  const client = clientOf(userAgent);
  if (client === undefined || !(client.streamErrorIsFinal === true || isFinalFor(client, error))) return events;
  return events.map((event) => ({ ...event, data: finalEvent(event.data, client) }));
}

function clientOf(userAgent: string | null): Client | undefined {
  return userAgent === null ? undefined : clients.find((known) => known.userAgent.test(userAgent));
}

function isFinalFor(client: Client, error: ErrorRecord): boolean {
  return isFinal(error) || (client.firstRefusalIsFinal === true && isLongRefusal(error));
}

/** An event of a stream; where it is an error of the OpenAI APIs, in the final form. */
function finalEvent(data: string, { repeatsOn }: Client): string {
  if (!data.startsWith('{"error":')) return data;
  const { error } = parseJson(data) as { readonly error: object | string }; // written by an encoder of ours
  if (typeof error === "string") return data; // Ollama's: it has no type
  const body = { error: { ...error, type: "invalid_request_error" } };
  return writeJson(repeatsOn === undefined ? body : withoutWords(body, repeatsOn));
}

/** An error's body without the members that are meant for programs. */
function onlyMessage(body: unknown): unknown {
  if (typeof body !== "object" || body === null || !("error" in body)) return body;
  const { error } = body;
  if (typeof error !== "object" || error === null || !("message" in error)) return body;
  const { message } = error;
  const member = (name: string) => (name in error ? { [name]: (error as Record<string, unknown>)[name] } : {});
  return { ...body, error: { message, ...member("type"), ...member("param"), ...member("code"), ...member("status") } };
}

/** The message if the table has none. */
const lastResort = "The request failed and is not repeated. `millrace tail` shows why.";

/** The body without the words that provoke a repeat: replaced in a message, left out elsewhere. */
function withoutWords(body: unknown, provoking: RegExp, name = ""): unknown {
  if (typeof body === "string") {
    const said = inPlainWords(body);
    if (!provoking.test(said)) return said;
    return name === "message" ? lastResort : undefined;
  }
  if (typeof body === "number") return provoking.test(String(body)) ? undefined : body;
  if (Array.isArray(body)) return body.map((item: unknown) => withoutWords(item, provoking)).filter(isSaid);
  if (typeof body !== "object" || body === null) return body;
  const members = Object.entries(body).map(([key, value]) => [key, withoutWords(value, provoking, key)] as const);
  return Object.fromEntries(members.filter(([key, value]) => isSaid(value) && !provoking.test(key)));
}

function isSaid(value: unknown): boolean {
  return value !== undefined;
}
