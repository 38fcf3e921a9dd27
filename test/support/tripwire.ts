import { connect, type Socket } from "node:net";
import { LoopbackProxy } from "./loopback-proxy.ts";

/** How every script of the log begins on the wire: one step of the store. Source: redis.io, serialization protocol. */
const step = Buffer.from("\r\nEVALSHA\r\n");

/** Where the server is killed: before it gets the nth step, or after it has done it and before anybody hears so. */
export interface Trip {
  readonly when: "before" | "after";
  readonly nth: number;
}

/** A way to a Redis server that counts the steps of the store, and calls for its death at one of them. */
export class Tripwire extends LoopbackProxy {
  readonly #path: string;
  #steps = 0;
  #trip: Trip | undefined;
  #fallen = Promise.withResolvers<void>();
  readonly #kill: () => Promise<void>;

  private constructor(path: string, kill: () => Promise<void>) {
    super();
    this.#path = path;
    this.#kill = kill;
  }

  static open(path: string, kill: () => Promise<void>): Promise<Tripwire> {
    return new Tripwire(path, kill).listening();
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Steps since the last `set`. */
  get steps(): number {
    return this.#steps;
  }

  /** Counts anew. `fallen` resolves once the server is dead. */
  set(trip: Trip | undefined): { readonly fallen: Promise<void> } {
    this.#steps = 0;
    this.#trip = trip;
    this.#fallen = Promise.withResolvers();
    return { fallen: this.#fallen.promise };
  }

  protected carry(client: Socket): void {
    const server = this.keep(connect(this.#path));
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
    let mayAnswer = true;
    client.on("data", (chunk: Buffer) => {
      for (let at = chunk.indexOf(step); at >= 0; at = chunk.indexOf(step, at + 1)) {
        this.#steps++;
        if (this.#trip === undefined || this.#steps !== this.#trip.nth) continue;
        mayAnswer = false;
        if (this.#trip.when === "before") {
          void this.#fall();
          return;
        }
      }
      server.write(chunk);
    });
    server.on("data", (chunk: Buffer) => {
      if (mayAnswer) client.write(chunk);
      else void this.#fall(); // it is done, and on the disk: nobody hears of it
    });
  }

  async #fall(): Promise<void> {
    this.#trip = undefined;
    await this.#kill();
    this.#fallen.resolve();
  }
}
