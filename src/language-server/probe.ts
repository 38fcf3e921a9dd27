import { connect as connectTls } from "node:tls";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { deadline } from "../base/async.ts";
import type { Secret } from "../base/secret.ts";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";
import { isLoopback } from "./base-url.ts";
import type { IdeVariant, WireProtocol } from "./endpoint.ts";
import { translateError, upstreamReason } from "./errors.ts";
import { openTransport } from "./open-transport.ts";

export interface ProbeTarget {
  readonly host: string;
  readonly port: number;
  readonly csrfToken: Secret;
  readonly variant: IdeVariant;
  /** How long each attempt may take, in ms; there are at most five. */
  readonly attemptMs?: number;
}

/** Why a port is not the one: what a decision trace shows. */
export type ProbeFailure = "closed" | "not_http" | "not_found" | "token_refused" | "timeout";

export type ProbeResult =
  | {
      readonly ok: true;
      readonly protocol: WireProtocol;
      readonly tls: boolean;
      /** It replied with an error: another port of the process may be the one, if that answers. */
      readonly unsure?: true;
    }
  | { readonly ok: false; readonly reason: ProbeFailure; readonly why: string };

/** What one attempt showed; `answered` is a server that has the service, `replied` one that spoke of an error. */
type Attempt = "answered" | "replied" | ProbeFailure;

/**
 * Asks one port whether a language server answers there, and how: TLS then plain, HTTP/2 (gRPC) then HTTP/1.1 (Connect), by
 * the cheapest RPC. Sends the CSRF token and nothing else: no API key, no prompt. Never throws but for the caller's signal.
 *
 * Source: facts/language-server.md, 3.4 to 3.7.
 */
export async function probePort(target: ProbeTarget, signal: AbortSignal): Promise<ProbeResult> {
  const attemptMs = target.attemptMs ?? 1_500;
  const handshake = await shakeHands(target, deadline(signal, attemptMs));
  signal.throwIfAborted();
  if (handshake === "closed") return failure("closed");
  const tls = handshake !== "plain" && handshake !== "timeout";
  const order: readonly WireProtocol[] =
    handshake === "h2"
      ? ["grpc"]
      : handshake === "http/1.1"
        ? ["connect", "connect-json"]
        : ["grpc", "connect", "connect-json"];
  const failures: ProbeFailure[] = [];
  for (const protocol of order) {
    const attempt = await ask(target, protocol, tls, attemptMs, signal);
    signal.throwIfAborted();
    if (attempt === "answered") return { ok: true, protocol, tls };
    if (attempt === "replied") return { ok: true, protocol, tls, unsure: true };
    if (attempt === "token_refused" || attempt === "closed") return failure(attempt);
    failures.push(attempt);
    if (attempt === "timeout" && failures.length > 1) break; // silent twice: another protocol will not wake it
  }
  return failure(mostTelling.find((reason) => failures.includes(reason)) ?? "not_http");
}

const mostTelling: readonly ProbeFailure[] = ["not_found", "not_http", "timeout"];

const whys: Readonly<Record<ProbeFailure, string>> = {
  closed: "nothing listens there",
  not_http: "answers, but speaks neither HTTP/2 nor HTTP/1.1",
  not_found: "an HTTP server answers, but has no language server service (404)",
  token_refused: "a language server answers, but refuses the CSRF token",
  timeout: "takes connections, but does not answer",
};

function failure(reason: ProbeFailure): ProbeResult {
  return { ok: false, reason, why: whys[reason] };
}

/** Offers TLS with both HTTP versions: the one chosen, or that the port is plain, closed or silent. */
function shakeHands(
  { host, port }: ProbeTarget,
  signal: AbortSignal,
): Promise<"h2" | "http/1.1" | "plain" | "closed" | "timeout"> {
  return new Promise((resolve) => {
    const socket = connectTls({
      host,
      port,
      ALPNProtocols: ["h2", "http/1.1"],
      rejectUnauthorized: !isLoopback(host),
    });
    const end = (result: "h2" | "http/1.1" | "plain" | "closed" | "timeout") => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      resolve(result);
    };
    const onAbort = () => end("timeout");
    socket.on("secureConnect", () => end(socket.alpnProtocol === "h2" ? "h2" : "http/1.1"));
    socket.on("error", (error: NodeJS.ErrnoException) => end(error.code === "ECONNREFUSED" ? "closed" : "plain"));
    socket.on("close", () => end("plain"));
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

async function ask(
  target: ProbeTarget,
  protocol: WireProtocol,
  tls: boolean,
  attemptMs: number,
  signal: AbortSignal,
): Promise<Attempt> {
  const connection = openTransport({ ...target, protocol, tls }, { readMaxBytes: 16 * 1024 * 1024 });
  try {
    await createClient(LanguageServerService, connection.transport).getUnleashData(
      {},
      { signal, timeoutMs: attemptMs },
    );
    return "answered";
  } catch (error) {
    return attemptFrom(ConnectError.from(error));
  } finally {
    connection.close();
  }
}

/** Any answer of the service marks the port, also an error; only 404 and what never was an answer do not. */
function attemptFrom(error: ConnectError): Attempt {
  const reason = upstreamReason(translateError(error, { nowMs: 0, secrets: [] }));
  if (reason === "csrf_refused") return "token_refused";
  if (reason === "connection_refused") return "closed";
  if (error.rawMessage === "HTTP 415") return "not_http"; // it is one, but takes another content type
  const answered = [...error.metadata.keys()].length > 0; // headers of a response; nothing local sets any
  if (answered) return error.code === Code.Unimplemented ? "not_found" : "replied";
  return error.code === Code.DeadlineExceeded ? "timeout" : "not_http";
}
