import { connect, type Socket } from "node:net";
import { LoopbackProxy } from "../support/loopback-proxy.ts";
import { resetSocket } from "../support/reset-socket.ts";

/** Where a connection is cut: after so many bytes of the request (`up`) or of the response (`down`), by FIN or by RST. */
export interface Cut {
  readonly direction: "up" | "down";
  readonly afterBytes: number;
  readonly how: "fin" | "rst";
}

/** A proxy on a port of its own that cuts the connections it carries, each where it is told. */
export class CuttingProxy extends LoopbackProxy {
  readonly #target: number;
  #cut: Cut | undefined;
  /** The most bytes that one connection carried each way. */
  readonly most = { up: 0, down: 0 };

  private constructor(target: number) {
    super();
    this.#target = target;
  }

  static open(target: number): Promise<CuttingProxy> {
    return new CuttingProxy(target).listening();
  }

  /** What happens to the connections that come from now on. */
  set cut(cut: Cut | undefined) {
    this.#cut = cut;
  }

  protected carry(client: Socket): void {
    const server = this.keep(connect(this.#target, "127.0.0.1"));
    const cut = this.#cut;
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
