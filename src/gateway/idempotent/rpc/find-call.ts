import type { ConnectError } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { parseContentType } from "@connectrpc/connect/protocol-connect";
import { encodeRefusal, type Reason, refusal } from "../../dialects/idempotent/errors.ts";
import type { RpcRequest } from "../../http/rpc-handler.ts";
import { messageTooLarge } from "./unreadable.ts";

/** Why a call is refused before its body is read. */
export interface RefusedCall {
  readonly error: ConnectError;
  /** Where it is another one than the error's code has. */
  readonly status?: number;
  /** The headers that go with that status. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the connection is of no more use. */
  readonly closes?: boolean;
}

export type FoundCall = { readonly handle: UniversalHandler } | { readonly refused: RefusedCall };

/**
 * The method that is called, or a refusal that no repetition would change. Connect itself would answer a bare status, and an
 * original client would then try for ever. `methods`: by path. Source: docs/wire/idempotent-streams.md, "Client algorithm".
 */
export function findCall(
  request: RpcRequest,
  methods: ReadonlyMap<string, UniversalHandler>,
  mostBytes: number,
): FoundCall {
  const path = (request.url ?? "").split("?", 1)[0] ?? "";
  const handle = methods.get(path);
  if (handle === undefined) {
    const hint = isCallPath(path)
      ? "Use the methods whose names end in Idempotent, IdempotentSSE or IdempotentPoll, and BidiAppend."
      : "Over HTTP/2 there is the stream protocol alone; every other path is served over HTTP/1.1.";
    return { refused: { error: refuse("no_such_method", `${path.slice(0, 200)} is not served here.`, hint) } };
  }
  const refused =
    wrongVersion(request, handle) ??
    wrongMethod(request, handle) ??
    wrongType(request, handle) ??
    wrongLength(request, mostBytes);
  return refused === undefined ? { handle } : { refused };
}

/** Whether a path has the form of a remote call's: a service of a package, and a method. No other route has a dot in its first part. */
export function isCallPath(path: string): boolean {
  return /^\/[A-Za-z]\w*(?:\.\w+)+\/[^/?]*(?:$|\?)/.test(path);
}

function wrongVersion({ httpVersionMajor }: RpcRequest, { method }: UniversalHandler): RefusedCall | undefined {
  if (method.methodKind !== "bidi_streaming" || httpVersionMajor >= 2) return undefined;
  const hint = `Use HTTP/2 with prior knowledge, or ${method.name}SSE with BidiAppend.`;
  const error = refuse("needs_http2", `${method.name} needs HTTP/2.`, hint);
  return { error, status: 505, closes: true }; // who sends on until the end never gets to one
}

function wrongMethod({ method = "" }: RpcRequest, handle: UniversalHandler): RefusedCall | undefined {
  if (handle.allowedMethods.includes(method)) return undefined;
  const allow = handle.allowedMethods.join(", ");
  const error = refuse("wrong_method", `${handle.method.name} is not called with ${method}.`, `Use ${allow}.`);
  return { error, status: 405, headers: { allow } };
}

function wrongType({ headers }: RpcRequest, { method }: UniversalHandler): RefusedCall | undefined {
  const given = headers["content-type"];
  const isStream = method.methodKind !== "unary";
  if (parseContentType(given ?? null)?.stream === isStream) return undefined;
  const accepted = isStream
    ? "application/connect+proto or application/connect+json"
    : "application/proto or application/json";
  const what = given === undefined ? "no content type" : JSON.stringify(given.slice(0, 100));
  const error = refuse("wrong_content_type", `${method.name} is not called with ${what}.`, `Send ${accepted}.`);
  return { error, status: 415 };
}

function wrongLength({ headers }: RpcRequest, mostBytes: number): RefusedCall | undefined {
  if (Number(headers["content-length"] ?? 0) <= mostBytes) return undefined;
  return { error: encodeRefusal(messageTooLarge(mostBytes).toRecord(), false) };
}

function refuse(reason: Reason, message: string, hint: string): ConnectError {
  return encodeRefusal(refusal("invalid_request", reason, message, { hint }).toRecord(), false);
}
