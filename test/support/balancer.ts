import { connect, type Socket } from "node:net";
import { LoopbackProxy } from "./loopback-proxy.ts";
import { resetSocket } from "./reset-socket.ts";

/** A plain TCP balancer: each connection goes to the next port that accepts it. Over one port it is a link that can be cut. */
export class Balancer extends LoopbackProxy {
  #targets: readonly number[];
  #next = 0;
  #isCut = false;

  private constructor(targets: readonly number[]) {
    super();
    this.#targets = targets;
  }

  static open(targets: readonly number[]): Promise<Balancer> {
    return new Balancer(targets).listening();
  }

  /** Where connections go from now on; those that are open stay where they are. */
  set targets(ports: readonly number[]) {
    this.#targets = ports;
  }

  /** Every connection breaks, and no new one gets through. */
  cut(): void {
    this.#isCut = true;
    this.drop();
  }

  /** Every connection stays, and nothing gets through. What is on its way is lost if the connection then breaks. */
  hold(): void {
    for (const socket of this.sockets) socket.pause();
  }

  mend(): void {
    this.#isCut = false;
  }

  /** Breaks every connection once. */
  drop(): void {
    for (const socket of this.sockets) resetSocket(socket);
  }

  protected async carry(client: Socket): Promise<void> {
    for (let tried = 0; tried < this.#targets.length && !this.#isCut; tried++) {
      const port = this.#targets[this.#next++ % this.#targets.length];
      const server = port === undefined ? undefined : await connected(port);
      if (server === undefined) continue;
      if (client.destroyed || this.#isCut) {
        server.destroy();
        break;
      }
      this.keep(server);
      client.on("close", () => server.destroy());
      server.on("close", () => client.destroySoon());
      client.pipe(server);
      server.pipe(client);
      return;
    }
    resetSocket(client);
  }
}

function connected(port: number): Promise<Socket | undefined> {
  const socket = connect(port, "127.0.0.1");
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(socket));
    socket.once("error", () => resolve(undefined));
  });
}
