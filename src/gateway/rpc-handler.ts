import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { authenticate, type GuardPolicy, type Refusal, refuseForeign, unauthenticated } from "./guard.ts";

/** What another protocol needs of the port: whole paths over HTTP/1.1 and HTTP/2. It is called only after the guard passed. */
export interface RpcHandler {
  /** Whether this path is its own (`/aiserver.v1.ChatService/...`). */
  takes(path: string): boolean;
  handle(request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse): void;
}

/** The handler behind the guard: the same hosts, origins and keys as every other route. */
export function guarded(policy: GuardPolicy, rpc: RpcHandler): RpcHandler["handle"] {
  return (request, response) => {
    const headers = headersOf(request);
    const refusal = refuseForeign(policy, headers) ?? (authenticate(policy, headers) ? undefined : unauthenticated());
    if (refusal === undefined) rpc.handle(request, response);
    else refuse(response, refusal);
  };
}

function headersOf(request: IncomingMessage | Http2ServerRequest): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (name.startsWith(":") || value === undefined) continue;
    headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  const authority = request.headers[":authority"];
  if (typeof authority === "string") headers.set("host", authority); // HTTP/2 has it instead of Host
  return headers;
}

/** A refusal as Connect writes errors. */
function refuse(response: ServerResponse | Http2ServerResponse, { status, error }: Refusal): void {
  const code = status === 401 ? "unauthenticated" : status === 403 ? "permission_denied" : "invalid_argument";
  // The two response classes have the same two methods, but no common type.
  const plain = response as ServerResponse;
  plain.writeHead(status, { "content-type": "application/json" });
  plain.end(JSON.stringify({ code, message: `${error.message} ${error.hint}` }));
}
