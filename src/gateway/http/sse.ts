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

/** Headers of a stream of lines. */
export const linesHeaders: Readonly<Record<string, string>> = { ...sseHeaders, "content-type": "application/x-ndjson" };
