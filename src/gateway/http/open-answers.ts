import type { RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The answers of HTTP/1.1 that are under way. */
export class OpenAnswers {
  readonly #open = new Set<ServerResponse>();
  #stopping = false;
  #none = () => {};

  get count(): number {
    return this.#open.size;
  }

  /** The same listener; its answers are known here until their connection has them. */
  watch(handle: RequestListener): RequestListener {
    return (incoming, outgoing) => {
      const { socket } = incoming;
      this.#open.add(outgoing);
      outgoing.once("close", () => {
        this.#open.delete(outgoing);
        if (this.#stopping) socket.destroySoon();
        if (this.#open.size === 0) this.#none();
      });
      handle(incoming, outgoing);
    };
  }

  /** From now on a connection is closed with its answer; those without one at once. */
  stop(sockets: ReadonlySet<Socket>): void {
    this.#stopping = true;
    const busy = new Set([...this.#open].map(({ socket }) => socket));
    for (const socket of sockets) if (!busy.has(socket)) socket.destroy();
    for (const answer of this.#open) answer.shouldKeepAlive = false;
  }

  /** Resolves when no answer is open, or after `ms`. */
  async over(ms: number): Promise<void> {
    if (this.#open.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#none = resolve;
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }
}
