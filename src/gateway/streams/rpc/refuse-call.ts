import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import { ConnectError } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, endStreamFlag, endStreamToJson, errorToJson } from "@connectrpc/connect/protocol-connect";
import { isMillraceError, MillraceError, toMillraceError } from "../../../base/errors.ts";
import { writeJson } from "../../../base/json.ts";
import { afterRead } from "../../../base/node/after-read.ts";
import { encodeInterruption, encodeRefusal, type Reason, refusal } from "../../dialects/idempotent/errors.ts";
import { Refusal } from "../../http/refusal.ts";
import type { RpcParts, RpcRequest, RpcResponse } from "../../http/rpc-handler.ts";

/**
 * The refusal of a method that is not served. Connect itself would answer a bare status, and an original client would then try for ever.
 * Source: docs/dev/wire/idempotent-streams.md, "Client algorithm".
 */
export function noSuchMethod(path: string): ConnectError {
  const hint = isCallPath(path)
    ? "Use the methods whose names end in Idempotent, IdempotentSSE or IdempotentPoll, and BidiAppend."
    : "Over HTTP/2 there is the stream protocol alone; every other path is served over HTTP/1.1.";
  return refuse("no_such_method", `${path.slice(0, 200)} is not served here.`, hint);
}

/** The refusal of a method that works both ways, over HTTP/1.1. */
export function needsHttp2(name: string): ConnectError {
  const hint = `Use HTTP/2 with prior knowledge, or ${name}SSE with BidiAppend.`;
  return refuse("needs_http2", `${name} needs HTTP/2.`, hint);
}

/** Whether a path has the form of a remote call's: a service of a package, and a method. No other route has a dot in its first part. */
export function isCallPath(path: string): boolean {
  return /^\/[A-Za-z]\w*(?:\.\w+)+\/[^/?]*(?:$|\?)/.test(path);
}

function refuse(reason: Reason, message: string, hint: string): ConnectError {
  return encodeRefusal(refusal("invalid_request", reason, message, { hint }).toRecord(), false);
}

/**
 * Refuses a call before its body is read, with all that the error carries. A stream is answered 200 and an end that says why,
 * since clients read no details from another status. Any other call gets the status and JSON. Source:
 * docs/dev/wire/idempotent-streams.md, "Bytes".
 */
export function writeRefusal(
  request: RpcRequest,
  response: RpcResponse,
  {
    error,
    status,
    closes = false,
  }: {
    readonly error: ConnectError;
    /** Where it is another one than the error's code has. */
    readonly status?: number;
    /** Whether the connection is of no more use. */
    readonly closes?: boolean;
  },
): void {
  const contentType = /^application\/connect\+(?:proto|json)\b/.exec(request.headers["content-type"] ?? "")?.[0];
  const text = new TextEncoder();
  const plain = response as ServerResponse; // both response classes have these methods, but no common type
  endWith(response);
  if (closes) plain.setHeader("connection", "close");
  if (contentType === undefined) {
    plain.writeHead(status ?? codeToHttpStatus(error.code), { "content-type": "application/json" });
    plain.end(writeJson(errorToJson(error, undefined)));
    return;
  }
  plain.writeHead(200, { "content-type": contentType });
  const end = writeJson(endStreamToJson(error.metadata, error, undefined));
  plain.end(encodeEnvelope(endStreamFlag, text.encode(end)));
}

/**
 * Once the answer is written, the call is over on both sides: a client that has its answer may never end its own, and over
 * HTTP/2 that would keep the stream.
 */
export function endWith(response: RpcResponse): void {
  response.once("finish", () => {
    if ("stream" in response) afterRead(() => response.stream.close(constants.NGHTTP2_NO_ERROR));
  });
}

/** Translates Connect's error about an incoming message that cannot be read. */
export function unreadable(cause: unknown): MillraceError {
  const { rawMessage, cause: reason } = ConnectError.from(cause);
  if (isMillraceError(reason)) return refusedMessage(reason);
  const hint = "Send the message as protobuf, or as its JSON, as the content type says.";
  return new MillraceError("invalid_request", `A message cannot be read: ${rawMessage.slice(0, 200)}.`, {
    cause,
    hint,
  });
}

/** The refusal of a message by the limits of bodies, with this protocol's reason. */
function refusedMessage(error: MillraceError): MillraceError {
  if (!(error instanceof Refusal && error.kind === "too_large")) return error;
  return refusal("invalid_request", "too_large", error.message, { hint: error.hint });
}

/** Any failure in this protocol's format; bugs go to the log. `begun`: the stream has an accepted message. */
export function encodeAny({ log }: Pick<RpcParts, "log">, error: unknown, begun: boolean): unknown {
  if (error instanceof ConnectError) return error;
  const ours = refusedMessage(toMillraceError(error));
  if (ours.code === "internal") {
    const bug = ours.cause instanceof Error ? ours.cause : ours;
    log.write("error", "unexpected error", { error: bug.stack });
  }
  const isPlain = ours.details === undefined || ours.details === null;
  if (ours.code === "cancelled" && isPlain) return encodeInterruption(ours.message); // a read that the gateway's end cut
  return encodeRefusal(ours.toRecord(), begun);
}
