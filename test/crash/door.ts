import { connect, type Socket } from "node:net";
import { LoopbackProxy } from "../support/loopback-proxy.ts";
import type { Lives } from "./lives.ts";

/** One address for whichever gateway lives: passes bytes on, counts those that come up, and can shut after some of them. */
export class Door extends LoopbackProxy {
  readonly #lives: Lives;
  #left = Number.POSITIVE_INFINITY;
  #onShut: () => void = () => {};
  connections = 0;

  private constructor(lives: Lives) {
    super();
    this.#lives = lives;
  }

  static open(lives: Lives): Promise<Door> {
    return new Door(lives).listening();
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** After so many more bytes from the client nothing passes any more; then `then` is called, once. */
  shutAfter(bytesUp: number, then: () => void): void {
    this.#left = bytesUp;
    this.#onShut = then;
  }

  /** Everything passes again. */
  reopen(): void {
    this.#left = Number.POSITIVE_INFINITY;
  }

  protected async carry(client: Socket): Promise<void> {
    const gateway = await this.#lives.current().catch(() => undefined); // the next life is tried by who comes again
    if (gateway === undefined || this.#left <= 0) {
      client.destroy();
      return;
    }
    this.connections++;
    const server = this.keep(connect(Number(new URL(gateway.url).port), "127.0.0.1"));
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
    client.on("data", (chunk: Buffer) => {
      if (this.#left <= 0) return;
      server.write(chunk.subarray(0, Math.min(chunk.length, this.#left)));
      this.#left -= chunk.length;
      if (this.#left <= 0) this.#onShut();
    });
    server.on("data", (chunk: Buffer) => void client.write(chunk));
  }
}
