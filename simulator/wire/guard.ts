import { timingSafeEqual } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeFromString } from "@connectrpc/connect/protocol-connect";
import type { Clock } from "../../src/base/clock.ts";
import { LanguageServerService } from "../../src/proto/windsurf/exa/language_server_pb.ts";
import type { CallFaults } from "../faults/call-faults.ts";
import type { RpcFault } from "../faults/rpc-fault.ts";
import type { Observations } from "../report.ts";
import type { Handler } from "./listener.ts";
import { answerGarbled, type Request, type Response, refuseCall, refusePlain } from "./refuse.ts";

export const servicePath = `/${LanguageServerService.typeName}/`;

/** The options of the guard between the socket and the handlers. */
interface GuardOptions {
  readonly csrfToken: string;
  /** Whether this build has an RPC of this name. */
  readonly knows: (rpc: string) => boolean;
  readonly faults: CallFaults<RpcFault>;
  readonly observations: Observations;
  readonly clock: Clock;
  readonly next: Handler;
}

/** Faults that a handler has to apply itself, by request. */
const pending = new WeakMap<Request, RpcFault>();

/** The fault that hits this call after its handler ran, if any. */
export function faultAfterHandler(request: Request): RpcFault | undefined {
  return pending.get(request);
}

/**
 * In the order of the real server: unknown path 404, wrong verb 405, CSRF token, then faults on demand, then the RPC.
 * Source: docs/dev/wire/language-server.md, "CSRF token refused".
 */
export function guard(options: GuardOptions): Handler {
  return (request, response) => void answer(options, request, response);
}

async function answer(options: GuardOptions, request: Request, response: Response): Promise<void> {
  const { observations } = options;
  const path = (request.url ?? "").split("?", 1)[0] ?? "";
  const rpc = path.startsWith(servicePath) ? path.slice(servicePath.length) : "";
  if (!options.knows(rpc)) {
    observations.figures.refused.path++;
    refusePlain(response, 404, "404 page not found\n");
    return;
  }
  if (request.method !== "POST") {
    observations.figures.refused.verb++;
    response.setHeader("allow", "POST");
    refusePlain(response, 405, "");
    return;
  }
  const csrf = csrfError(options, request.headers["x-codeium-csrf-token"]);
  if (csrf !== undefined) {
    observations.figures.refused.csrf++;
    observations.changed();
    refuseCall(request, response, csrf);
    return;
  }
  observations.call(rpc, request.headers["content-type"] ?? "");
  for (const fault of options.faults.hit(rpc)) {
    if (await applied(options, fault, request, response)) return;
  }
  options.next(request, response);
}

function csrfError(options: GuardOptions, given: string | string[] | undefined): ConnectError | undefined {
  const code = Code.Unauthenticated;
  if (given === undefined) return new ConnectError("missing CSRF token", code);
  const a = Buffer.from(String(given));
  const b = Buffer.from(options.csrfToken);
  return a.length === b.length && timingSafeEqual(a, b) ? undefined : new ConnectError("invalid CSRF token", code);
}

/** Whether the fault ended the call. */
async function applied(options: GuardOptions, fault: RpcFault, request: Request, response: Response): Promise<boolean> {
  if (fault.delayMs !== undefined) {
    await options.clock.sleep(fault.delayMs, new AbortController().signal);
    return false;
  }
  if (fault.errorAfter !== undefined) {
    pending.set(request, fault);
    return false;
  }
  if (fault.dropAfterBytes !== undefined) {
    dropAfter(fault.dropAfterBytes, request, response);
    return false;
  }
  if (fault.error !== undefined) {
    refuseCall(request, response, toConnectError(fault.error));
  } else if (fault.csrf === true) {
    refuseCall(request, response, new ConnectError("invalid CSRF token", Code.Unauthenticated));
  } else if (fault.missing === true) {
    refusePlain(response, 404, "404 page not found\n");
  } else if (fault.garbled === true) {
    answerGarbled(request, response);
  }
  return true; // a hanging call gets no answer
}

/** The error that a fault names. */
export function toConnectError(error: { readonly code: string; readonly message: string }): ConnectError {
  return new ConnectError(error.message, codeFromString(error.code) ?? Code.Unknown);
}

/** Lets `bytes` of the body out, then destroys the connection under it. */
function dropAfter(bytes: number, request: Request, response: Response): void {
  let left = bytes;
  const write = response.write.bind(response) as (chunk: Uint8Array) => boolean; // the one form that the adapter uses
  const drop = () => request.socket.destroy();
  const cut = (chunk: unknown): boolean => {
    const data = typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Uint8Array); // bodies are bytes or text
    const sent = data.subarray(0, left);
    left -= sent.length;
    const more = sent.length === 0 || write(sent);
    if (left === 0 && data.length >= sent.length) setImmediate(drop);
    return more;
  };
  response.write = cut as typeof response.write;
  response.end = ((chunk?: unknown) => {
    if (chunk !== undefined && chunk !== null && typeof chunk !== "function") cut(chunk);
    setImmediate(drop);
    return response;
  }) as typeof response.end;
}
