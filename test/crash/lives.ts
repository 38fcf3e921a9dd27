import { join } from "node:path";
import { type GatewayProcess, startGatewayProcess } from "../support/gateway-process.ts";

const preload = `--import ${join(import.meta.dirname, "die-at.ts")}`;

/** Where a gateway dies by itself: before or after its nth write to the store. */
export type Death = { readonly when: "before" | "after"; readonly write: number };

/** One gateway after another over the same files: each dies, and the next one takes over what it left. */
export class Lives {
  readonly #home: string;
  readonly #args: readonly string[];
  readonly #onStart: () => void;
  readonly #env: Readonly<Record<string, string>>;
  #living: Promise<GatewayProcess>;
  #deaths = 0;

  /** `onStart` is told of each life that listens. `env` is added to the environment of each. */
  constructor(home: string, args: readonly string[], onStart: () => void, env: Readonly<Record<string, string>> = {}) {
    this.#home = home;
    this.#args = args;
    this.#onStart = onStart;
    this.#env = { ...env, NODE_OPTIONS: `${preload} ${env["NODE_OPTIONS"] ?? ""}` };
    this.#living = Promise.reject(new Error("no gateway was started yet"));
    this.#living.catch(() => {}); // not used before the first start
  }

  get deaths(): number {
    return this.#deaths;
  }

  /** The gateway that lives now, or the next one. */
  current(): Promise<GatewayProcess> {
    return this.#living;
  }

  /** A new life. Resolves once it listens; a death during its start counts, and another life follows. */
  start(death?: Death): Promise<GatewayProcess> {
    const env = {
      ...this.#env,
      ...(death === undefined ? {} : { MILLRACE_TEST_DIE_AT: `${death.when}:${death.write}` }),
    };
    this.#living = startGatewayProcess({ home: this.#home, args: this.#args, env }).catch(() => {
      this.#deaths++;
      return startGatewayProcess({ home: this.#home, args: this.#args, env: this.#env });
    });
    this.#living.then(this.#onStart, () => {}); // the caller gets the error
    return this.#living;
  }

  /** `kill -9`, or an end in order, now. The next `start` replaces it. */
  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    const living = await this.#living;
    if (signal === "SIGKILL") await living.kill();
    else await living.stop();
    this.#deaths++;
  }

  /** Another life in the place of one that has a death before it, dead already or not. */
  async replace(): Promise<void> {
    await (await this.#living).kill();
    await this.start();
  }

  /** Resolves when the gateway that lives now is gone, also if another process killed it. */
  async untilDead(): Promise<void> {
    const living = await this.#living;
    await living.ended;
    this.#deaths++;
  }

  async stop(): Promise<string> {
    const living = await this.#living;
    await living.stop();
    return living.log();
  }
}
