import { unitMs } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import { sortableId } from "../../base/ids.ts";
import { projectAtMost } from "../../usage/history/project-of.ts";
import { bounds } from "../dialects/bounds.ts";

/** Headers that name a client's own session, the more specific first. Source: docs/dev/wire/clients.md, "Session headers". */
const sessionHeaders = ["x-claude-code-session-id", "x-session-id", "session-id", "x-session-affinity", "thread-id"];

/** The headers of a request in either version of HTTP; repeated ones are joined. */
export function headersOf({ rawHeaders }: { readonly rawHeaders: readonly string[] }): Headers {
  const headers = new Headers();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2);
    if (name === ":authority")
      headers.set("host", value); // HTTP/2 has it instead of Host
    else if (!name.startsWith(":")) headers.append(name, value);
  }
  return headers;
}

const routesOfVersion1 =
  /^\/(chat\/completions|completions|models|messages|responses?|embeddings|audio|images|moderations)(?=\/|$)/;

/** What people write before a route, in any order and number: each API's own first words. */
const doorWords = /^(?:\/(?:v0|v1|v1beta|v1alpha|api|openai|anthropic|ollama|gemini)(?=\/|$))+/;

/** The methods of Gemini's API stand behind the name of a model, and have capitals inside. */
const geminiMethod = /^\/models\/.+:(?:[a-z]+[A-Z]\w*|predict)$/;

/** Google's and other addresses of OpenAI's API. */
const openAiDoor = /\/(?:v1beta|v1alpha|gemini)\/openai(?=\/|$)/;

const deployment = /^\/openai\/deployments\/([^/]+)(?=\/)/;

/** The model that a path of Azure's form names, for a body that names none. */
export function deploymentOf(pathname: string): string | undefined {
  const name = deployment.exec(pathname)?.[1];
  try {
    return name && decodeURIComponent(name);
  } catch {
    return name; // no valid escape: as it came
  }
}

/**
 * The path that a route is looked up by. Base addresses are written in many ways, and programs add `/v1` or `/api` to them: so all door
 * words at the start are one, the last of `v1`, `v1beta` and `api`; a route of the vendors' APIs is one of `/v1` without them too. Slashes are
 * single, none is at the end; `/openai/deployments/NAME/…` (Azure) is what follows. Source: docs/dev/wire/requirements.json.
 */
export function foldPath(pathname: string): string {
  const path = pathname
    .replace(/\/{2,}/g, "/")
    .replace(/(.)\/+$/, "$1")
    .replace(deployment, "")
    .replace(openAiDoor, "/v1");
  const [words = ""] = doorWords.exec(path) ?? [];
  const rest = path.slice(words.length);
  const isGoogles = /\/v1(?:beta|alpha)|\/gemini/.test(words);
  if (geminiMethod.test(rest) || (isGoogles && /^\/models(?=\/|$)/.test(rest))) return `/v1beta${rest}`;
  const base = /^.*(\/v1(?:beta|alpha)?|\/api)(?=\/|$)/.exec(words)?.[1];
  const isVersion1 = routesOfVersion1.test(rest) && !(base === "/api" && rest.startsWith("/embeddings"));
  const door = isVersion1 ? "/v1" : (base ?? (rest === "" ? words : ""));
  return `${door}${rest}`.replace(/^\/v1\/response(?=\/|$)/, "/v1/responses") || "/";
}

/** An API in whose form a request is answered. */
export type Api = "openai" | "lmstudio" | "anthropic" | "gemini" | "ollama";

/** The API of a request: the one that has its route, else the one that the first words of its path name, else that of its SDK. */
export function apiOf(pathname: string, headers: Headers): Api {
  const path = foldPath(pathname);
  if (/^\/v1\/(?:chat|completions|responses)(?:\/|$)/.test(path)) return "openai";
  if (/^\/v1\/messages(?:\/|$)/.test(path)) return "anthropic";
  if (/^\/v1(?:beta|alpha)(?:\/|$)/.test(path)) return "gemini";
  if (/^\/api(?:\/|$)/.test(path)) return "ollama";
  const [words = ""] = doorWords.exec(pathname.replace(openAiDoor, "/v1")) ?? [];
  if (words.includes("/v0")) return "lmstudio";
  const named = (["anthropic", "gemini", "ollama"] as const).find((name) => words.includes(name));
  if (named !== undefined) return named;
  if (headers.has("x-goog-api-client")) return "gemini";
  const isAnthropics = headers.has("anthropic-version") || /^claude-cli\b/i.test(headers.get("user-agent") ?? "");
  return isAnthropics ? "anthropic" : "openai";
}

/**
 * The client's own request id if it is a plain one, ours otherwise. Ours has no 4 and no 5: OpenCode treats an error whose body has
 * 429 or 503 anywhere in it as temporary.
 */
export function requestIdOf(headers: Headers, nowMs: number): string {
  const given = headers.get("x-request-id") ?? headers.get("x-client-request-id");
  if (given !== null && /^[\w.:-]{8,100}$/.test(given)) return given;
  return `req_${sortableId(nowMs).replaceAll("4", "i").replaceAll("5", "l")}`; // letters that such an id never has
}

/**
 * The client's session: the values of its session headers, each once; undefined if it sends none. Two threads of one session count as
 * two sessions: neither joins or ends the other's request.
 */
export function sessionOf(headers: Headers): string | undefined {
  const values = sessionHeaders.map((name) => headers.get(name)?.trim().slice(0, bounds.idempotencyKey) ?? "");
  return [...new Set(values)].filter((value) => value !== "").join("/") || undefined;
}

/**
 * Who asks: the product in `x-millrace-client` where there is one (a page cannot set its user agent, and libraries set their
 * own), else the one at the head of the user agent: `opencode/1.18.33`.
 */
export function clientOf(headers: Headers): string | undefined {
  const product = /^[\w@./+-]{1,80}/;
  const [named, agent] = [headers.get("x-millrace-client"), headers.get("user-agent")];
  return product.exec(named?.trim() ?? "")?.[0] ?? product.exec(agent ?? "")?.[0];
}

/** The client's project, for the usage history. */
export function projectOf(headers: Headers): string | undefined {
  const project = textOf(headers.get("x-millrace-project")?.trim() ?? "");
  return project === "" ? undefined : project.slice(0, projectAtMost);
}

/** A header as its sender wrote it: folders have names in UTF-8, which arrive byte by byte. Source: RFC 9110, 5.5. */
function textOf(bytes: string): string {
  if (!/[\u0080-\u00ff]/.test(bytes)) return bytes;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes, (letter) => letter.charCodeAt(0)));
  } catch {
    return bytes; // Latin-1, as it came
  }
}

/** Whether an SDK marks the request as a retry. */
export function isRetry(headers: Headers): boolean {
  return Number(headers.get("x-stainless-retry-count") ?? "0") > 0;
}

/** Whether the client may resume its stream: it gave the request a key, or resumes one. */
export function isResumable(headers: Headers): boolean {
  return ["idempotency-key", "x-idempotency-key", "last-event-id"].some((name) => headers.has(name));
}

/**
 * `Idempotency-Key` or `x-idempotency-key`, bare or as a quoted structured-field string.
 *
 * @throws MillraceError `invalid_request` when it is empty, too long, or the two headers differ.
 */
export function idempotencyKeyOf(headers: Headers): string | undefined {
  const given = ["idempotency-key", "x-idempotency-key"].flatMap((name) => headers.get(name) ?? []);
  const keys = new Set(given.map((text) => /^"(.*)"$/.exec(text.trim())?.[1] ?? text.trim()));
  if (keys.size === 0) return undefined;
  const [key = ""] = keys;
  if (keys.size > 1) {
    throw new MillraceError("invalid_request", "Idempotency-Key and x-idempotency-key name two different keys.", {
      param: "idempotency-key",
      hint: "Send one of them, or the same key in both.",
    });
  }
  if (key === "" || key.length > bounds.idempotencyKey || !/^[\x21-\x7e ]+$/.test(key)) {
    throw new MillraceError(
      "invalid_request",
      `The idempotency key must be 1 to ${bounds.idempotencyKey} printable characters.`,
      {
        param: "idempotency-key",
        hint: "A UUID is a good one.",
      },
    );
  }
  return key;
}

/**
 * How long the turn continues without a reader, in ms. It continues to its end with `?detach=1`, and if `x-millrace-grace` or
 * `?grace=` is `detach`. Otherwise these give seconds or a time with a unit (`90`, `500ms`, `2m`). The header wins over the query.
 *
 * @throws MillraceError `invalid_request` for anything else in one of them.
 */
export function graceMsOf(headers: Headers, query: URLSearchParams): number | undefined {
  const detach = query.get("detach");
  if (detach !== null && detach !== "0" && detach !== "false") return Number.POSITIVE_INFINITY;
  const [name, given] = headers.has("x-millrace-grace")
    ? (["x-millrace-grace", headers.get("x-millrace-grace")] as const)
    : (["grace", query.get("grace")] as const);
  const text = given?.trim();
  if (text === undefined) return undefined;
  if (text === "detach") return Number.POSITIVE_INFINITY;
  const match = /^(\d{1,9})(ms|s|m|h)?$/.exec(text);
  if (match === null) {
    throw new MillraceError(
      "invalid_request",
      `${name} must be a time like \`90\`, \`500ms\` or \`2m\`, or \`detach\`.`,
      {
        param: name,
      },
    );
  }
  return Number(match[1]) * (unitMs[match[2] ?? "s"] ?? 1000);
}

/** A value made safe for a header: printable ASCII, at most 200 characters. */
export function headerSafe(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 200);
}

/** Parts of a path that may be a key: they begin as keys do, or are long and have letters and digits mixed. */
const keyLike = /^(?:mr[kr]?|sk|pk|key|ghp|xox\w|aiza)[-_].{8}|^(?=.*\d)(?=.*[a-z])[\w.~+=-]{32,}$/i;

/** Ids of our own: the log is there to find them. */
const ownId = /^(?:turn|resp|msg|cmp|call|chatcmpl|req)_\w{1,40}$/;

/** A path for the log. A client that was given a wrong address may send its key in it. */
export function loggedPath(path: string): string {
  const isKey = (part: string) => !ownId.test(part) && keyLike.test(part);
  const parts = path.slice(0, 2_000).split("/");
  return headerSafe(parts.map((part) => (unescaped(part).split("/").some(isKey) ? "[redacted]" : part)).join("/"));
}

function unescaped(part: string): string {
  try {
    const once = decodeURIComponent(part);
    return once === part ? part : unescaped(once);
  } catch {
    return part;
  }
}
