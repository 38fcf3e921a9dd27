import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable, Writable } from "node:stream";

type Handler = (incoming: IncomingMessage, response: ServerResponse, json?: unknown) => Promise<void>;

/** A response without a socket. It takes bytes as its client reads them: at most one piece is held. */
class HeldResponse extends Writable {
  readonly head = Promise.withResolvers<{ readonly status: number; readonly headers: Headers }>();
  readonly req: { readonly method: string };
  #pieces: { readonly bytes: Buffer; readonly taken: () => void }[] = [];
  #end: (() => void) | undefined;
  #news = () => {};

  constructor(method: string) {
    super({ highWaterMark: 1 });
    this.req = { method };
  }

  writeHead(status: number, headers: Record<string, string>): void {
    this.head.resolve({ status, headers: new Headers(headers) });
  }

  flushHeaders(): void {}

  override _write(bytes: Buffer, _encoding: string, taken: () => void): void {
    this.#pieces.push({ bytes, taken });
    this.#news();
  }

  override _final(over: () => void): void {
    this.#end = over;
    this.#news();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#news();
    done(error);
  }

  /** Ends once the handler is done with the response. */
  bodyUntil(handled: Promise<void>): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (stream) => {
          while (this.#pieces.length === 0 && this.#end === undefined && !this.destroyed)
            await new Promise<void>((resolve) => {
              this.#news = resolve;
            });
          const piece = this.#pieces.shift();
          if (piece !== undefined) {
            stream.enqueue(new Uint8Array(piece.bytes));
            piece.taken();
          } else if (this.#end === undefined) stream.error(new Error("the response was cut"));
          else {
            this.#end();
            await handled;
            stream.close();
          }
        },
        cancel: async () => {
          this.destroy();
          await handled;
        },
      },
      { highWaterMark: 0 },
    );
  }
}

/** Asks a handler of Node's requests as `fetch` would, without a socket between. `json`: the request's body, if it was read before. */
export function inMemory(handle: Handler): (request: Request, json?: unknown) => Promise<Response> {
  return async (request, json) => {
    const { pathname, search } = new URL(request.url);
    const rawHeaders = [...request.headers].flat();
    const { method } = request;
    const incoming = Object.assign(Readable.from(request.body ?? []), { method, url: pathname + search, rawHeaders });
    incoming.on("error", () => {}); // who reads it gets it
    const held = new HeldResponse(method);
    held.on("error", () => {});
    request.signal.addEventListener("abort", () => held.destroy());
    if (request.signal.aborted) held.destroy();
    // all that a handler here asks of them
    const handled = handle(incoming as unknown as IncomingMessage, held as unknown as ServerResponse, json);
    const { reject } = held.head;
    handled.then(() => reject(new Error("the client left before the head of the response")), reject);
    const { status, headers } = await held.head.promise;
    const isBare = status === 204 || method === "HEAD";
    const body = held.bodyUntil(handled);
    if (!isBare) return new Response(body, { status, headers });
    await body.getReader().read(); // its end
    return new Response(null, { status, headers });
  };
}
