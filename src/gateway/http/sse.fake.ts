import { createParser, type EventSourceMessage } from "eventsource-parser";

/** Reads an event stream piece by piece, as a client does. */
export class SseReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #events: EventSourceMessage[] = [];
  readonly #parser = createParser({ onEvent: (event) => void this.#events.push(event) });
  bytes = "";
  /** The body ended without its end: the stream was cut. */
  isCut = false;

  constructor(response: Response) {
    if (response.body === null) throw new Error("no body");
    this.#reader = response.body.getReader();
  }

  /** The next event; undefined at the end of the body, or where it was cut. */
  async next(): Promise<EventSourceMessage | undefined> {
    while (this.#events.length === 0) {
      const { done, value } = await this.#reader.read().catch(() => {
        this.isCut = true;
        return { done: true, value: undefined } as const;
      });
      if (done) return undefined;
      const text = this.#decoder.decode(value, { stream: true });
      this.bytes += text;
      this.#parser.feed(text);
    }
    return this.#events.shift();
  }

  async rest(): Promise<EventSourceMessage[]> {
    const events: EventSourceMessage[] = [];
    for (let event = await this.next(); event !== undefined; event = await this.next()) events.push(event);
    return events;
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel();
  }
}
