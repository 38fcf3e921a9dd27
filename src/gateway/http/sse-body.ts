import { bestEffort } from "../../base/async.ts";
import type { WireEvent } from "../dialects/dialect.ts";

/**
 * Headers of every event stream: never cached, never compressed, never held back by a proxy.
 * Source: docs/wire/clients.md, "HTTP and model lists".
 */
export const sseHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** One server-sent event as text. Data is split at line ends, as the format asks. Source: WHATWG HTML, 9.2. */
export function writeSse(event: WireEvent, id?: string): string {
  const name = event.name === undefined ? "" : `event: ${event.name}\n`;
  const idLine = id === undefined ? "" : `id: ${id}\n`;
  const data = /[\r\n]/.test(event.data) ? event.data.split(/\r\n|\r|\n/).join("\ndata: ") : event.data;
  return `${name}${idLine}data: ${data}\n\n`;
}

/** The text that ends a body: it is sent together with the end of the response. */
export class LastText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The parts of a body. */
export type Texts = AsyncGenerator<string | LastText, void>;

const lastPieces = new WeakSet<Uint8Array>();

/** Whether these bytes end their body. The one call after them only asks whether they were taken. */
export function isLastPiece(bytes: Uint8Array): boolean {
  return lastPieces.has(bytes);
}

/**
 * The rest of a stream whose turn has ended. If nothing is left, the status is 204: unlike an empty stream, it stops a client that
 * reconnects automatically. Source: WHATWG HTML, 9.2.
 */
export async function restOfStream(
  texts: Texts,
  controller: AbortController,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const { done, value } = await texts.next();
  if (done !== true) return new Response(pulledBody(texts, controller, value), { headers });
  const { "content-type": _none, ...others } = headers;
  return new Response(null, { status: 204, headers: others });
}

/**
 * A body that is produced only as fast as it is read. `first` was already read from `texts`; the next text is read when the
 * reader asks for it. When the reader disconnects, `controller` aborts first, and then the producer is freed.
 */
export function pulledBody(
  texts: Texts,
  controller: AbortController,
  first?: string | LastText,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const encode = (text: string | LastText) => {
    if (typeof text === "string") return encoder.encode(text);
    const bytes = encoder.encode(text.text);
    lastPieces.add(bytes);
    return bytes;
  };
  let taken = first;
  return new ReadableStream<Uint8Array>(
    {
      async pull(stream) {
        if (taken !== undefined) {
          stream.enqueue(encode(taken));
          taken = undefined;
          return;
        }
        const { done, value } = await texts.next();
        if (done === true) stream.close();
        else stream.enqueue(encode(value));
      },
      async cancel(reason) {
        controller.abort(reason);
        await bestEffort(texts.return());
      },
    },
    { highWaterMark: 0 },
  );
}
