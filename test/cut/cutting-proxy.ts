import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { resetSocket } from "../support/reset-socket.ts";

/** Where a connection is cut: after so many bytes of the request (`up`) or of the response (`down`), by FIN or by RST. */
export interface Cut {
  readonly direction: "up" | "down";
  readonly afterBytes: number;
  readonly how: "fin" | "rst";
}

/** A proxy on a port of its own that cuts the connections it carries, each where it is told. */
export class CuttingProxy implements AsyncDisposable {
  readonly #server;
  #cut: Cut | undefined;
  readonly #sockets = new Set<Socket>();
  /** The most bytes that one connection carried each way. */
  readonly most = { up: 0, down: 0 };

  private constructor(target: number) {
    this.#server = createServer((client) => this.#carry(client, connect(target, "127.0.0.1")));
  }

  static async open(target: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // it listens on a port, not on a pipe
  }

  /** What happens to the connections that come from now on. */
  set cut(cut: Cut | undefined) {
    this.#cut = cut;
  }

  #carry(client: Socket, server: Socket): void {
    const cut = this.#cut;
    for (const socket of [client, server]) {
      this.#sockets.add(socket.setNoDelay(true));
      socket.once("close", () => this.#sockets.delete(socket));
      socket.on("error", () => {}); // what the other side makes of it is what is tested
    }
    const { most } = this;
    client.on("data", () => (most.up = Math.max(most.up, client.bytesRead)));
    server.on("data", () => (most.down = Math.max(most.down, server.bytesRead)));
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroySoon());
    const sever = () => {
      if (cut?.how === "rst") {
        resetSocket(client);
        resetSocket(server);
      } else {
        client.end();
        server.end();
      }
    };
    carry(client, server, cut?.direction === "up" ? cut.afterBytes : undefined, sever);
    carry(server, client, cut?.direction === "down" ? cut.afterBytes : undefined, sever);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

/** Passes bytes on, up to a limit; at the limit, once they are written, everything ends. */
function carry(from: Socket, to: Socket, limit: number | undefined, sever: () => void): void {
  let left = limit ?? Number.POSITIVE_INFINITY;
  if (left === 0) {
    sever();
    return;
  }
  from.on("data", (chunk: Buffer) => {
    if (left <= 0) return;
    const passed = chunk.subarray(0, Math.min(chunk.length, left));
    left -= chunk.length;
    to.write(passed, () => {
      if (left <= 0) sever();
    });
  });
  from.on("end", () => to.end());
}
