import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import { isLastPiece } from "./sse-body.ts";

type Handler = (request: Request) => Response | Promise<Response>;

/**
 * Serves a request-to-response function over node:http. The request's signal aborts as soon as the client's connection
 * is gone, also before the first byte; the body is read only as fast as the socket takes it.
 */
export async function serveNode(
  handler: Handler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  onRequest: (request: Request) => void = () => {},
): Promise<void> {
  const controller = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished)
      controller.abort(new DOMException("The client closed the connection.", "AbortError"));
  });
  const request = toRequest(incoming, controller.signal);
  if (request === undefined) {
    outgoing.writeHead(400, { "content-type": "application/json", connection: "close" });
    outgoing.end(
      '{"error":{"message":"The request target must be a path.","type":"invalid_request_error","param":null,"code":"invalid_request"}}',
    );
    return;
  }
  onRequest(request);
  const response = await handler(request);
  await writeResponse(response, outgoing);
}

/** Undefined for a target that is no path (`GET http://elsewhere/`): proxies are asked so, and this is none. */
function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = "GET", url = "" } = incoming;
  if (!url.startsWith("/")) return undefined;
  const headers = new Headers();
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i] ?? "", incoming.rawHeaders[i + 1] ?? "");
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  const body = hasBody ? (Readable.toWeb(incoming) as NodeReadableStream<Uint8Array>) : null; // a byte stream without an encoding set
  try {
    return new Request(`http://gateway${url}`, {
      method,
      headers,
      body,
      signal,
      ...(hasBody ? { duplex: "half" } : {}),
    });
  } catch {
    return undefined; // a method or a target that fetch's grammar does not know
  }
}

async function writeResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed) {
    await response.body?.cancel();
    return;
  }
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null || outgoing.req.method === "HEAD") {
    await response.body?.cancel();
    outgoing.end();
    return;
  }
  outgoing.flushHeaders();
  const reader = response.body.getReader();
  const onClose = () => {
    void reader.cancel().catch(() => {}); // the socket is closed: stop the producer, whose own error matters no more
  };
  outgoing.once("close", onClose);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      await (isLastPiece(value) ? ended(outgoing, value, onClose) : written(outgoing, value));
    }
    outgoing.off("close", onClose);
    if (!outgoing.writableEnded) outgoing.end();
  } catch {
    outgoing.destroy(); // a body that breaks must not look complete
  }
}

/**
 * Resolves once the operating system has the bytes. More may be requested only then, because a request for more after the end of an
 * answer means that the answer was delivered. Rejects when the client is gone.
 */
function written(outgoing: ServerResponse, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = () => reject(new Error("The client closed the connection."));
    outgoing.once("close", onClose);
    outgoing.write(bytes, (error) => {
      outgoing.off("close", onClose);
      if (error) reject(error);
      else resolve();
    });
  });
}

/**
 * The last bytes and the end of the response, in one segment: a client that has read the first has read the second too, so that nothing
 * is unread when it closes its connection at once. Resolves and rejects as `written` does.
 */
function ended(outgoing: ServerResponse, bytes: Uint8Array, onGone: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = () => reject(new Error("The client closed the connection."));
    outgoing.once("close", onClose);
    outgoing.end(bytes, () => {
      outgoing.off("close", onClose);
      outgoing.off("close", onGone); // before the response says that it is closed, which follows at once
      resolve();
    });
  });
}
