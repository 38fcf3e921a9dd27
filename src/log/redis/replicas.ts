import type { StoreWeakness } from "../weakness.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** How long a write waits for the replicas; ms. A replica that takes longer is not waited for until it is counted again. */
const waitMs = 500;

/**
 * The replicas of the server, which follow it asynchronously. A write that all of them have survives a failover to any of them, so
 * a write is acknowledged only then. A server without replicas costs nothing here.
 */
export class Replicas {
  readonly #send: RedisConnection["sendCommand"];
  readonly #onWeaknesses: (weaknesses: readonly StoreWeakness[]) => void;
  /** How many are waited for, how many follow, and how many ever did. */
  #count = 0;
  #following = 0;
  #most = 0;
  #isPersistent = true;
  #told = "";

  /** `onWeaknesses` is called at each change with the reasons why an acknowledged write may be lost. */
  constructor(
    connection: Pick<RedisConnection, "sendCommand">,
    onWeaknesses: (weaknesses: readonly StoreWeakness[]) => void = () => {},
  ) {
    this.#send = (words, options) => connection.sendCommand(words, options);
    this.#onWeaknesses = onWeaknesses;
  }

  /** Counts the replicas that follow now, and waits for the writes that they lack. */
  async look(): Promise<void> {
    try {
      const [, , replicas] = (await this.#send(["ROLE"], {})) as [unknown, unknown, unknown]; // redis.io, ROLE
      this.#following = Array.isArray(replicas) ? replicas.length : 0;
      this.#most = Math.max(this.#most, this.#following);
      this.#isPersistent = !/^aof_enabled:0/m.test(String(await this.#send(["INFO", "persistence"], {})));
      this.#count = this.#following === 0 ? 0 : await this.#reached(this.#following);
    } catch {
      this.#count = 0; // this user may not ask, or the connection broke, which the next write says
      this.#following = 0;
    }
    this.#tell();
  }

  /** Resolves once they have all that was written before, or do not keep up. Rejects where the connection breaks meanwhile. */
  async follow(): Promise<void> {
    if (this.#count === 0) return;
    this.#count = Math.min(this.#count, await this.#reached(this.#count));
    this.#tell();
  }

  async #reached(count: number): Promise<number> {
    return Number(await this.#send(["WAIT", String(count), String(waitMs)], {}));
  }

  #tell(): void {
    const weaknesses: StoreWeakness[] = [];
    if (this.#count < this.#following) weaknesses.push("replica_behind");
    if (this.#following < this.#most) weaknesses.push("replica_gone");
    if (!this.#isPersistent) weaknesses.push("not_persistent");
    if (weaknesses.join() === this.#told) return;
    this.#told = weaknesses.join();
    this.#onWeaknesses(weaknesses);
  }
}
