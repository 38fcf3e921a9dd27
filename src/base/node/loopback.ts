import { Agent, type IncomingMessage, request } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import process from "node:process";
import { Readable } from "node:stream";
import { MillraceError } from "../errors.ts";

/** The names of this machine, without brackets: httpx refuses an entry with them in `NO_PROXY`. Source: docs/dev/wire/processes.md, "Proxies". */
export const loopbackNames: readonly string[] = ["127.0.0.1", "localhost", "::1"];
/** The same as hosts of an address. */
export const loopbackHosts = loopbackNames.map((name) => (name.includes(":") ? `[${name}]` : name));

/** Whether a variable names a proxy. */
export function isProxy([name, value]: readonly [string, unknown]): boolean {
  return /^(?:https?|all)_proxy$/i.test(name) && value !== undefined && value !== "";
}

/** Whether a program with these variables asks this host without its proxy, whichever of `NO_PROXY` and `no_proxy` it reads. */
export function isExempt({ hostname }: URL, env: Readonly<Record<string, unknown>>): boolean {
  const lists = [env["NO_PROXY"], env["no_proxy"]].filter((list) => list !== undefined && list !== "");
  const names = (list: unknown) => String(list).split(/[\s,]+/);
  return (
    lists.length > 0 &&
    lists.every((list) => names(list).some((name) => name === "*" || `[${name}]` === hostname || name === hostname))
  );
}

/**
 * `NO_PROXY` and `no_proxy` of a program that asks a server of this machine: the entries that are there, and the names of this machine.
 * Both get all entries, because programs differ in which one they read.
 */
export function loopbackExemption(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<"NO_PROXY" | "no_proxy", string>> {
  const given = Object.entries(env)
    .filter(([name]) => name.toUpperCase() === "NO_PROXY")
    .toSorted(([a], [b]) => (a < b ? 1 : -1)) // the lower case first, in any order of the environment
    .flatMap(([, value]) => (value ?? "").split(/[\s,]+/))
    .filter((entry) => entry !== "");
  // curl knows `*` only alone
  const value = given.includes("*") ? "*" : [...new Set([...given, ...loopbackNames])].join(",");
  return { NO_PROXY: value, no_proxy: value };
}

/**
 * Makes this process ask servers of this machine without a proxy, on each runtime, even if `HTTP_PROXY` is set. Bun's own `node:http` goes to
 * the proxy too, even with an agent of one's own. Source: docs/dev/wire/processes.md, "Proxies".
 */
export function exemptLoopback(): void {
  Object.assign(process.env, loopbackExemption(process.env));
}

/**
 * An agent for requests to this address if it is of this machine: Node gives its proxy to the global agent only. Undefined for other
 * addresses, which may need the proxy.
 */
export function loopbackAgent(url: URL): Agent | HttpsAgent | undefined {
  if (!/^(?:127(?:\.\d+){3}|\[::1\]|(?:.+\.)?localhost)$/.test(url.hostname)) return undefined;
  if (process.versions["bun"] !== undefined) exemptLoopback();
  return url.protocol === "https:" ? new HttpsAgent() : new Agent();
}

/** The error of a server that cannot listen because this machine has no such address; undefined for any other reason. */
export function noSuchAddress(error: unknown, host = "127.0.0.1"): MillraceError | undefined {
  if ((error as NodeJS.ErrnoException).code !== "EADDRNOTAVAIL") return undefined;
  const hint =
    "Start the loopback interface (`ip link set lo up`), or give `serve` an address that this machine has: `--host ::1`.";
  return new MillraceError("degraded", `This machine has no address ${host}, so nothing can listen there.`, {
    hint,
    cause: error,
  });
}

const agent = new Agent();

export interface LoopbackRequest {
  readonly method?: string | undefined;
  readonly headers?: RequestInit["headers"];
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * `fetch` for a server of this machine, without redirects: never through a proxy, and not by a dispatcher that a program preloads. Rejects with
 * the signal's reason, or with the error of the socket or of Node's parser as `cause`.
 */
export function loopbackFetch(url: URL, { method = "GET", headers, body, signal }: LoopbackRequest): Promise<Response> {
  const sentHeaders = new Headers(headers);
  if (process.versions["bun"] !== undefined) {
    exemptLoopback();
    const more = body === undefined ? {} : { body };
    return fetch(url, { method, headers: sentHeaders, signal, redirect: "manual", ...more });
  }
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    if (body !== undefined) sentHeaders.set("content-length", String(Buffer.byteLength(body)));
    const sent = request(url, { method, headers: Object.fromEntries(sentHeaders), agent });
    let answer: IncomingMessage | undefined;
    const abort = () => {
      answer?.destroy(signal.reason as Error); // passed on as the aborter gave it
      sent.destroy(signal.reason as Error);
    };
    signal.addEventListener("abort", abort, { once: true });
    sent.once("close", () => signal.removeEventListener("abort", abort));
    sent.on("error", (error) => reject(signal.aborted ? error : new TypeError("fetch failed", { cause: error })));
    sent.once("response", (received) => {
      answer = received;
      resolve(responseOf(received));
    });
    sent.end(body);
  });
}

function responseOf(answer: IncomingMessage): Response {
  const { statusCode: status = 502 } = answer;
  const headers = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const isEmpty = status === 204 || status === 304;
  if (isEmpty) answer.resume();
  return new Response(isEmpty ? null : Readable.toWeb(answer), { status, headers });
}
