import { type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { createParser, type EventSourceMessage } from "eventsource-parser";

export interface Asked {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What came back, as far as it came. */
export interface Answered {
  readonly status: number | undefined;
  readonly text: string;
  /** All bytes of the response, its head included, as far as Node counts them. */
  readonly bytes: number;
  readonly whole: boolean;
}

/** One request on a connection of its own. A cut is no error: it is told by `whole`. */
export function exchange(port: number, asked: Asked): Promise<Answered> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let response: IncomingMessage | undefined;
    let socket: Socket | undefined;
    const end = (whole: boolean) => {
      const text = Buffer.concat(chunks).toString();
      resolve({ status: response?.statusCode, text, bytes: socket?.bytesRead ?? 0, whole });
    };
    const { method, path, headers, body } = asked;
    const sent = request({ host: "127.0.0.1", port, method, path, headers, agent: false });
    sent.on("socket", (connected) => {
      socket = connected.setNoDelay(true);
    });
    sent.on("response", (incoming) => {
      response = incoming;
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", () => {}); // `close` tells
      incoming.on("close", () => setImmediate(() => end(incoming.complete)));
    });
    sent.on("error", () => {
      if (response === undefined) end(false);
    });
    sent.end(body);
  });
}

/** The complete server-sent events of a text; a half one at its end is not there yet. */
export function eventsOf(text: string): readonly EventSourceMessage[] {
  const events: EventSourceMessage[] = [];
  createParser({ onEvent: (event) => events.push(event) }).feed(text);
  return events;
}
