import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { bestEffort } from "../../base/async.ts";
import { ideName } from "../../base/ide-name.ts";
import { writeJson, writeJsonApart } from "../../base/json.ts";
import { ownTurn } from "../../base/node/unhurried.ts";
import { piecesOf } from "../../base/pieces.ts";
import type { WireEvent } from "../dialects/dialect.ts";
import { headerSafe } from "./request-headers.ts";

/** Writes a body piece by piece, and ends the response. If it rejects, the connection is cut: the body must not look complete. */
export type BodyFlow = (response: ServerResponse) => Promise<void>;

/** An answer of a route, before it is written. Names of headers are in lower case. */
export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array | BodyFlow;
  /** Called once: whether the operating system took the whole body. */
  readonly done?: (isTaken: boolean) => Promise<unknown>;
}

/** A whole body of JSON. `done` as in `Reply`. */
export function jsonResponse(
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
  done?: Reply["done"],
): Reply {
  const own = { "content-type": "application/json", "cache-control": "no-store" };
  return { status, headers: { ...own, ...headers }, body: writeJson(body), ...(done && { done }) };
}

/** In characters: to write so many takes less than a millisecond. */
const pieceOfText = 65_536;

/** As `jsonResponse`, for an answer with texts of any length: to write 8 MB at once takes some 0.2 s. */
export function answerResponse(answer: unknown, headers: Reply["headers"], done: Reply["done"]): Reply {
  const mark = `${randomUUID()}:`;
  const [json, ...texts] = writeJsonApart(answer, mark);
  const flow: BodyFlow = async (response) => {
    // in turn the JSON between two texts, and the number of a text
    for (const [at, piece] of json.split(new RegExp(`${mark}(\\d+)`)).entries()) {
      if (at % 2 === 0) response.write(piece);
      else
        for (const part of piecesOf(texts[Number(piece)] ?? "", pieceOfText)) {
          if (!response.write(writeJson(part).slice(1, -1))) await drained(response);
          await ownTurn();
        }
    }
    response.end();
  };
  return { ...jsonResponse({}, 200, headers, done), body: texts.length === 0 ? json : flow };
}

/** Writes the reply. Resolves once the operating system has it, or the client is gone. Never rejects. */
export async function send({ status, headers, body, done }: Reply, response: ServerResponse): Promise<void> {
  const isHead = response.req.method === "HEAD";
  if (typeof body === "string" || body instanceof Uint8Array)
    headers["content-length"] = String(Buffer.byteLength(body));
  const isSent =
    !response.destroyed &&
    (await new Promise<boolean>((resolve) => {
      response.once("finish", () => resolve(true));
      response.once("close", () => resolve(false));
      response.writeHead(status, headers);
      if (isHead || body === undefined) response.end();
      else if (typeof body !== "function") response.end(body);
      else {
        response.flushHeaders();
        body(response).catch(() => response.destroy());
      }
    }));
  if (done !== undefined) await bestEffort(done(isSent && !isHead));
}

/** Resolves once the response takes more, or its client is gone. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      response.off("drain", over);
      response.off("close", over);
      resolve();
    };
    response.on("drain", over);
    response.on("close", over);
    if (response.destroyed) over();
  });
}

/**
 * Headers of every answer to a caller with a key: the IDE that gets a prompt to this model now, and `x-millrace-store: new` if the log
 * was damaged as the gateway began, so that it may not know a key that was used before.
 */
export function callerHeaders(
  gateway: {
    readonly ideOf?: (modelUid: string | undefined) => string | undefined;
    readonly storeState?: () => { readonly damaged?: unknown };
  },
  modelUid: string | undefined,
): Readonly<Record<string, string>> {
  const ide = gateway.ideOf?.(modelUid);
  const isNew = (gateway.storeState?.().damaged ?? undefined) !== undefined;
  return {
    ...(ide === undefined ? {} : { "x-millrace-ide": headerSafe(ideName(ide)) }),
    ...(isNew ? { "x-millrace-store": "new" } : {}),
  };
}

/**
 * Headers of every event stream: never cached, never compressed, never held back by a proxy.
 * Source: docs/dev/wire/requirements.json.
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

/** Headers of a stream of lines, or of the lines of one array. */
export function linesHeaders(framing: "lines" | "array"): Readonly<Record<string, string>> {
  return { ...sseHeaders, "content-type": framing === "lines" ? "application/x-ndjson" : "application/json" };
}
