import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, endStreamFlag, endStreamToJson, errorToJson } from "@connectrpc/connect/protocol-connect";
import type { RpcRequest, RpcResponse } from "../../http/rpc-handler.ts";
import type { RefusedCall } from "./find-call.ts";

/**
 * Refuses a call before its body is read, with all that the error carries. A stream is answered 200 and an end that says why,
 * since clients read no details from another status. Any other call gets the status and JSON. Source:
 * docs/wire/idempotent-streams.md, "Bytes".
 */
export function writeRefusal(
  request: RpcRequest,
  response: RpcResponse,
  { error, status, headers, closes = false }: RefusedCall,
): void {
  const contentType = /^application\/connect\+(?:proto|json)\b/.exec(request.headers["content-type"] ?? "")?.[0];
  const text = new TextEncoder();
  const plain = response as ServerResponse; // both response classes have these methods, but no common type
  endWith(response);
  if (closes) plain.setHeader("connection", "close");
  if (contentType === undefined) {
    const told = { ...headers, "content-type": "application/json" };
    plain.writeHead(status ?? codeToHttpStatus(error.code), told);
    plain.end(JSON.stringify(errorToJson(error, undefined)));
    return;
  }
  plain.writeHead(200, { "content-type": contentType });
  const end = JSON.stringify(endStreamToJson(error.metadata, error, undefined));
  plain.end(encodeEnvelope(endStreamFlag, text.encode(end)));
}

/**
 * Once the answer is written, the call is over on both sides: a client that has its answer may never end its own, and over
 * HTTP/2 that would keep the stream.
 */
export function endWith(response: RpcResponse): void {
  response.once("finish", () => {
    if ("stream" in response) response.stream.close(constants.NGHTTP2_NO_ERROR);
  });
}
