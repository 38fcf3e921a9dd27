import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Bodies } from "./body.ts";
import type { TurnParts } from "./context.ts";
import { authenticate, type Caller, corsHeaders, type GuardPolicy, refuseForeign } from "./guard.ts";
import type { Refusal } from "./refusal.ts";
import type { RefusedBook } from "./refused.ts";
import { callerHeaders } from "./reply.ts";
import { clientOf, headersOf } from "./request-headers.ts";
import { unauthenticated } from "./wrong-key.ts";

export type RpcRequest = IncomingMessage | Http2ServerRequest;
export type RpcResponse = ServerResponse | Http2ServerResponse;

/** A handler of another protocol on the same port: whole paths over HTTP/1.1 and HTTP/2. It receives only requests that the guard let pass. */
export interface RpcHandler {
  /** Whether the path has this handler's form (`/aiserver.v1.ChatService/...`). The handler itself refuses methods that it does not serve. */
  takes(path: string): boolean;
  handle(request: RpcRequest, response: RpcResponse, caller: Caller): void;
  /** Answers with the refusal, in this protocol's error format. */
  refuse(request: RpcRequest, response: RpcResponse, refusal: Refusal): void;
  /** Ends the open calls in such a way that clients come back later. */
  close?(): Promise<void>;
}

/** The parts of a gateway that another protocol on its port shares. */
export interface RpcParts extends Omit<TurnParts, "contextTokens"> {
  readonly refused: Pick<RefusedBook, "note">;
  readonly limits: { readonly maxBodyBytes: number };
  /** The memory that messages share with the bodies of HTTP. */
  readonly bodies: Pick<Bodies, "memory">;
}

/** Opens another protocol over a gateway's parts. */
export type OpenRpc = (parts: RpcParts) => RpcHandler;

/** Whether the request is for the handler; a preflight is answered as for every other route. */
export function isFor(rpc: RpcHandler, { method, url = "" }: RpcRequest): boolean {
  return method !== "OPTIONS" && rpc.takes(url);
}

/** The handler behind the guard: the same hosts, origins and keys as every other route. */
export function guarded(
  policy: GuardPolicy,
  rpc: RpcHandler,
  gateway: Parameters<typeof callerHeaders>[0] & Partial<Pick<RpcParts, "refused">> = {},
): (request: RpcRequest, response: RpcResponse) => void {
  return (request, response) => {
    const headers = headersOf(request);
    const foreign = refuseForeign(policy, headers);
    const caller = foreign === undefined ? authenticate(policy, headers) : undefined;
    if (foreign === undefined) {
      for (const [name, value] of Object.entries(corsHeaders(headers.get("origin")))) response.setHeader(name, value);
    }
    if (caller === undefined) {
      const refusal = foreign ?? unauthenticated(policy, headers);
      gateway.refused?.note(clientOf(headers), refusal);
      return rpc.refuse(request, response, refusal);
    }
    const ours = callerHeaders(gateway, undefined); // no message was read yet, so the model is unknown
    for (const [name, value] of Object.entries(ours)) response.setHeader(name, value);
    rpc.handle(request, response, caller);
  };
}
