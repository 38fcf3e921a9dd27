import { connect as connectTls } from "node:tls";
import { Code, ConnectError } from "@connectrpc/connect";
import { patientDeadline } from "../../base/node/patient-deadline.ts";
import type { Secret } from "../../base/secret.ts";
import { LanguageServerService } from "../../proto/windsurf/exa/language_server_pb.ts";
import { translateError, upstreamReason } from "../errors/errors.ts";
import { type Endpoint, type IdeVariant, isLoopback, type WireProtocol } from "../transport/endpoint.ts";
import { openWire } from "../transport/open-transport.ts";
import { type UnaryWire, whole } from "../transport/unary-wire.ts";

/** A port to ask: on loopback, held by the process whose token this is. */
export interface ProbeTarget {
  readonly host: string;
  readonly port: number;
  readonly csrfToken: Secret;
  readonly variant: IdeVariant;
  /** How long each attempt may take while this process can listen, in ms; there are at most seven. */
  readonly attemptMs?: number;
}

/** Why a port is not the server's, for the decision trace. */
export type ProbeFailure = "closed" | "not_http" | "not_found" | "not_service" | "token_refused" | "timeout";

export type ProbeResult =
  | {
      readonly ok: true;
      readonly protocol: WireProtocol;
      readonly tls: boolean;
      /** It replied with an error: another port of the process may be the one, if that answers. */
      readonly unsure?: true;
    }
  | { readonly ok: false; readonly reason: ProbeFailure; readonly why: string };

/** The result of one attempt. `answered`: a server with the service. `replied`: an error in the form of the protocol. */
type Attempt = "answered" | "replied" | ProbeFailure;

/**
 * Asks one port whether a language server answers there, and how: TLS then plain, HTTP/2 (gRPC) then HTTP/1.1 (Connect). The form
 * of an answer decides (content type, trailers, Connect's error body), and its payload is not read. Two RPCs are tried before a
 * protocol is given up. Sends the CSRF token and nothing else: no API key, no prompt. Throws only the signal's reason.
 *
 * Source: docs/dev/wire/language-server.md, "Probing".
 */
export async function probePort(target: ProbeTarget, signal: AbortSignal): Promise<ProbeResult> {
  const attemptMs = target.attemptMs ?? 1_500;
  const handshake = await shakeHands(target, patientDeadline(signal, attemptMs));
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
    const attempt = await ask({ ...target, protocol, tls }, attemptMs, signal);
    signal.throwIfAborted();
    if (attempt === "answered") return { ok: true, protocol, tls };
    if (attempt === "replied") return { ok: true, protocol, tls, unsure: true };
    if (attempt === "token_refused" || attempt === "closed") return failure(attempt);
    failures.push(attempt);
    if (attempt === "not_service" && protocol === "connect") break; // Connect refuses a content type by 415
    if (attempt === "timeout" && failures.length > 1) break; // silent twice: another protocol will not wake it
  }
  return failure(mostTelling.find((reason) => failures.includes(reason)) ?? "not_http");
}

const mostTelling: readonly ProbeFailure[] = ["not_found", "not_service", "not_http", "timeout"];

const whys: Readonly<Record<ProbeFailure, string>> = {
  closed: "nothing listens there",
  not_http: "answers, but speaks neither HTTP/2 nor HTTP/1.1",
  not_found: "an HTTP server answers, but has no language server service (404)",
  not_service: "an HTTP server answers, but neither as gRPC nor as Connect does",
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

/** The cheapest RPCs of the service. Both take an empty request. */
const methods = [LanguageServerService.method.getUnleashData, LanguageServerService.method.heartbeat];
const readMaxBytes = 16 * 1024 * 1024;

/** A port's result in one protocol: the first RPC that answers, else the most telling attempt. */
async function ask(endpoint: Endpoint, attemptMs: number, signal: AbortSignal): Promise<Attempt> {
  const connection = openWire(endpoint, readMaxBytes);
  const attempts: Attempt[] = [];
  try {
    for (const { name } of methods) {
      const path = `/${LanguageServerService.typeName}/${name}`;
      const attempt = await callOnce(connection.wire, path, attemptMs, signal);
      signal.throwIfAborted();
      if (!worthAnother.has(attempt)) return attempts[0] === "replied" ? "replied" : attempt;
      attempts.push(attempt);
    }
    return attempts.find((attempt) => attempt === "replied") ?? attempts[0] ?? "not_http";
  } finally {
    connection.close();
  }
}

/** After these another RPC of the service can show more. */
const worthAnother: ReadonlySet<Attempt> = new Set(["replied", "not_found", "not_service"]);

function callOnce(wire: UnaryWire, path: string, attemptMs: number, signal: AbortSignal): Promise<Attempt> {
  return new Promise((resolve) => {
    const limit = patientDeadline(signal, attemptMs);
    const end = (attempt: Attempt) => {
      limit.removeEventListener("abort", onLimit);
      resolve(attempt);
    };
    const cancel = wire.exchange({
      path,
      timeoutMs: undefined, // a busy server must not give up in time that we would wait for
      headers: undefined,
      ordered: false,
      body: () => whole(new TextEncoder().encode(wire.format === "json" ? "{}" : "")),
      onAnswer: () => end("answered"),
      onError: (error) => end(attemptFrom(error)),
    });
    const onLimit = () => {
      cancel();
      end("timeout");
    };
    limit.addEventListener("abort", onLimit, { once: true });
    if (limit.aborted) onLimit();
  });
}

/** An error's evidence about the port, by the form in which the error came. */
function attemptFrom(thrown: unknown): Attempt {
  const reason = upstreamReason(translateError(thrown, { nowMs: 0, secrets: [] }));
  if (reason === "csrf_refused") return "token_refused";
  if (reason === "connection_refused") return "closed";
  const error = ConnectError.from(thrown);
  const { metadata, rawMessage, code } = error;
  if (code === Code.Unimplemented) return "not_found";
  if (isOfProtocol(error)) return "replied";
  if (rawMessage === "HTTP 415") return "not_http"; // it is one, but takes another content type
  const isAnswer = [...metadata.keys()].length > 0; // headers of a response; nothing local sets any
  return isAnswer ? "not_service" : "not_http";
}

/** A gRPC status in trailers or headers, or the JSON body of a Connect error, whose message is not made from the status. */
function isOfProtocol({ metadata, rawMessage }: ConnectError): boolean {
  const type = metadata.get("content-type") ?? "";
  if (metadata.has("grpc-status") || type.startsWith("application/grpc")) return true;
  return type.startsWith("application/json") && !/^(?:HTTP \d+$|unsupported content type|$)/.test(rawMessage);
}
