import type { RedisConnection } from "./redis-connection.ts";

/** How long a write waits for the replicas; ms. One that takes longer is not waited for until it is counted again. */
const waitMs = 500;

/**
 * The replicas of the server, which follow it asynchronously. A write that all of them have survives a failover to any of them, so
 * a write is acknowledged only then. A server without replicas costs nothing here.
 */
export class Replicas {
  readonly #send: RedisConnection["sendCommand"];
  #count = 0;

  constructor(connection: Pick<RedisConnection, "sendCommand">) {
    this.#send = (words, options) => connection.sendCommand(words, options);
  }

  /** Counts those that follow now. */
  async look(): Promise<void> {
    try {
      const [, , replicas] = (await this.#send(["ROLE"], {})) as [unknown, unknown, unknown]; // redis.io, ROLE
      this.#count = Array.isArray(replicas) ? replicas.length : 0;
    } catch {
      this.#count = 0; // this user may not ask, or the connection broke, which the next write says
    }
  }

  /** Resolves once they have all that was written before, or do not keep up. Rejects where the connection breaks meanwhile. */
  async follow(): Promise<void> {
    if (this.#count === 0) return;
    const reached = Number(await this.#send(["WAIT", String(this.#count), String(waitMs)], {}));
    this.#count = Math.min(this.#count, reached);
  }
}
