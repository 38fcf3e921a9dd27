import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** A listener on a port of its own that carries connections elsewhere. They end with it. */
export abstract class LoopbackProxy implements AsyncDisposable {
  readonly #server = createServer((client) => void this.carry(this.keep(client)));
  protected readonly sockets = new Set<Socket>();

  protected abstract carry(client: Socket): void | Promise<void>;

  async listening(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // it listens on a port, not on a pipe
  }

  protected keep(socket: Socket): Socket {
    this.sockets.add(socket.setNoDelay(true));
    socket.once("close", () => this.sockets.delete(socket));
    return socket.on("error", () => {}); // `close` tells
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}
