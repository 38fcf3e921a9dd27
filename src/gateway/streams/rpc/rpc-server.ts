import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createConnectRouter,
  createContextKey,
  type Interceptor,
} from "@connectrpc/connect";
import { createAsyncIterable, type UniversalHandler, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorFromJsonBytes, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { afterRead } from "../../../base/node/after-read.ts";
import { encodeRefusal } from "../../dialects/idempotent/errors.ts";
import type { BodyMemory } from "../../http/body.ts";
import type { RpcRequest, RpcResponse } from "../../http/rpc-handler.ts";
import { scannedCall } from "./message-door.ts";
import { endWith, needsHttp2, noSuchMethod, unreadable, writeRefusal } from "./refuse-call.ts";

/** Answers calls. A failure before the method is reached has details too. Source: docs/dev/wire/idempotent-streams.md, "What a server must do". */
export function rpcServer({
  routes,
  mostBytes,
}: {
  readonly routes: (router: ConnectRouter) => void;
  /** Of one message, before and after it is unpacked. */
  readonly mostBytes: number;
}) {
  const router = createConnectRouter({
    grpc: false,
    grpcWeb: false,
    acceptCompression: [compressionGzip, compressionBrotli],
    compressMinBytes: Number.MAX_SAFE_INTEGER, // an answer is never held back to be compressed
    interceptors: [detailing],
  });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (
    request: RpcRequest,
    response: RpcResponse,
    caller: {
      readonly values: ContextValues;
      /** The memory of one call's messages. */
      readonly memory: () => BodyMemory;
    },
  ): void => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const handle = handlers.get(path);
    if (handle === undefined) return writeRefusal(request, response, { error: noSuchMethod(path) });
    const { methodKind, name } = handle.method;
    // a client that sends on until the end never gets to one
    if (methodKind === "bidi_streaming" && request.httpVersionMajor < 2)
      return writeRefusal(request, response, { error: needsHttp2(name), status: 505, closes: true });
    endWith(response);
    void answer(handle, request, response, caller).catch(() => afterRead(() => response.destroy())); // the connection is gone, or is of no more use
  };

  async function answer(
    handle: UniversalHandler,
    request: RpcRequest,
    response: RpcResponse,
    caller: Parameters<ReturnType<typeof rpcServer>>[2],
  ): Promise<void> {
    const counted = caller.memory();
    let isOver = false;
    const memory: BodyMemory = { hold: (bytes) => counted.hold(isOver ? 0 : bytes) };
    response.once("close", () => {
      isOver = true;
      counted.hold(0);
      request.on("data", () => {}).resume(); // the rest of a refused body, or the next request on this connection would never be read
    });
    // reading that stops in the middle must leave the connection: the refusal goes over it
    const body = request.iterator({ destroyOnReturn: false });
    const progress: Progress = { isRead: false };
    const values = caller.values.set(progressKey, progress);
    const call = universalRequestFromNodeRequest(request, response, undefined, values);
    const refused = (error: unknown) => (progress.refusal = error);
    const answered = await handle(scannedCall({ ...call, body }, handle, { mostBytes, memory, refused }));
    const isUnread = handle.method.methodKind === "unary" && answered.status >= 400 && !progress.isRead;
    const isBare = isUnread && answered.body !== undefined; // 405 and 415 have none
    const whole = isBare ? await detailed(answered, progress.refusal) : answered;
    await universalResponseToNodeResponse(whole, response); // its promise never resolves where all goes well
  }
}

interface Progress {
  isRead: boolean;
  /** Why its message was not read. */
  refusal?: unknown;
}

const progressKey = createContextKey<Progress>({ isRead: false }, { description: "how far the call has come" });

/** Adds details to errors. Methods that stream their answer reject here only for their request; errors of the answer come later. */
const detailing: Interceptor = (next) => async (request) => {
  request.contextValues.get(progressKey).isRead = true;
  if (!request.stream) return next(request);
  try {
    return await next(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw encodeRefusal(unreadable(error).toRecord(), false);
  }
};

/** The same answer with details. */
async function detailed(bare: UniversalServerResponse, refusal: unknown): Promise<UniversalServerResponse> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bare.body ?? []) pieces.push(piece);
  const unknown = new ConnectError("The call was refused", Code.InvalidArgument);
  const told = errorFromJsonBytes(Buffer.concat(pieces), undefined, unknown);
  const error = encodeRefusal(unreadable(refusal ?? told).toRecord(), false);
  const json = errorToJsonBytes(error, undefined);
  const header = new Headers(bare.header);
  header.set("content-length", String(json.length));
  return { status: codeToHttpStatus(error.code), header, body: createAsyncIterable([json]) };
}
