import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Lives } from "./lives.ts";

/** One address for whichever gateway lives: passes bytes on, counts those that come up, and can shut after some of them. */
export class Door implements AsyncDisposable {
  readonly #server;
  readonly #lives: Lives;
  readonly #sockets = new Set<Socket>();
  #left = Number.POSITIVE_INFINITY;
  #onShut: () => void = () => {};
  connections = 0;

  private constructor(lives: Lives) {
    this.#lives = lives;
    this.#server = createServer((client) => void this.#carry(client));
  }

  static async open(lives: Lives): Promise<Door> {
    const door = new Door(lives);
    door.#server.listen(0, "127.0.0.1");
    await once(door.#server, "listening");
    return door;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // it listens on a port, not on a pipe
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

  async #carry(client: Socket): Promise<void> {
    this.#hold(client);
    const gateway = await this.#lives.current().catch(() => undefined); // the next life is tried by who comes again
    if (gateway === undefined || this.#left <= 0) {
      client.destroy();
      return;
    }
    this.connections++;
    const server = this.#hold(connect(Number(new URL(gateway.url).port), "127.0.0.1"));
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

  #hold(socket: Socket): Socket {
    this.#sockets.add(socket.setNoDelay(true));
    socket.on("close", () => this.#sockets.delete(socket));
    return socket.on("error", () => {}); // `close` tells
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
