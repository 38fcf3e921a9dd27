import { Bell } from "../../../base/bell.ts";

/**
 * Reads a body ahead of its consumer, at most `mostBytes`. Unread bytes are lost when the connection ends, and a message that arrived
 * whole before that must count (docs/stream-protocol.md, "Clients that leave at once"). Reading starts at once, so call it as soon as the
 * request arrives. Throws an error of the chunks after everything that came before it.
 */
export function readAhead(chunks: AsyncIterable<Uint8Array>, mostBytes: number): AsyncGenerator<Uint8Array, void> {
  const ahead = new Ahead(mostBytes);
  void ahead.read(chunks); // never rejects, and ends with the connection
  return ahead.take();
}

class Ahead {
  readonly #mostBytes: number;
  readonly #held: Uint8Array[] = [];
  readonly #news = new Bell();
  readonly #room = new Bell();
  #bytes = 0;
  #isStopped = false;
  /** Set once nothing more is read. */
  #end: { readonly error?: unknown } | undefined;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  async read(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of chunks) {
        this.#held.push(chunk);
        this.#bytes += chunk.length;
        this.#news.ring();
        while (this.#bytes > this.#mostBytes && !this.#isStopped) await this.#room.wait();
        if (this.#isStopped) break;
      }
      this.#end = {};
    } catch (error) {
      this.#end = { error };
    }
    this.#news.ring();
  }

  async *take(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        const chunk = this.#held.shift();
        if (chunk !== undefined) {
          this.#bytes -= chunk.length;
          this.#room.ring();
          yield chunk;
        } else if (this.#end !== undefined) {
          if ("error" in this.#end) throw this.#end.error;
          return;
        } else await this.#news.wait();
      }
    } finally {
      this.#isStopped = true;
      this.#room.ring();
    }
  }
}
