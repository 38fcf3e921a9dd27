import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, endStreamToJson, errorToJson } from "@connectrpc/connect/protocol-connect";

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

/**
 * Answers a call with an error before any handler ran, in the form of the protocol that it came in: gRPC and gRPC-web
 * as trailers-only, Connect streams as an end-of-stream envelope, Connect unary as JSON with an HTTP status.
 */
export function refuseCall(request: Request, response: Response, error: ConnectError): void {
  const contentType = request.headers["content-type"] ?? "";
  if (contentType.startsWith("application/grpc")) {
    writeResponse(response, 200, {
      "content-type": contentType,
      "grpc-status": String(error.code),
      "grpc-message": encodeURIComponent(error.rawMessage),
    });
  } else if (contentType.startsWith("application/connect+")) {
    const body = Buffer.from(JSON.stringify(endStreamToJson(new Headers(), error, undefined)));
    const head = Buffer.alloc(5);
    head[0] = 2;
    head.writeUInt32BE(body.length, 1);
    writeResponse(response, 200, { "content-type": contentType }, Buffer.concat([head, body]));
  } else {
    const body = JSON.stringify(errorToJson(error, undefined));
    writeResponse(response, codeToHttpStatus(error.code), { "content-type": "application/json" }, body);
  }
}

/** Answers a unary call well, with the end of a group that never began as its message: no schema decodes that. */
export function answerGarbled(request: Request, response: Response): void {
  const contentType = request.headers["content-type"] ?? "";
  const message = Buffer.from([0x0c]);
  if (!contentType.startsWith("application/grpc")) {
    writeResponse(response, 200, { "content-type": contentType }, message);
    return;
  }
  response.statusCode = 200;
  response.setHeader("content-type", contentType);
  response.addTrailers({ "grpc-status": "0" });
  response.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
}

/** Answers with plain text, as a Go mux does. */
export function refusePlain(response: Response, status: number, text: string): void {
  writeResponse(response, status, { "content-type": "text/plain; charset=utf-8" }, text);
}

/** The two kinds of response share these calls, but not their overloads. */
export function writeResponse(
  response: Response,
  status: number,
  headers: Record<string, string>,
  body?: string | Buffer,
): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (body === undefined) response.end();
  else response.end(body);
}
