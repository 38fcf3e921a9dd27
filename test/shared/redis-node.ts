import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";

/** The servers that can be started here. Both speak the same protocol, under the same options. */
export const serverPrograms = ["redis-server", "valkey-server"].filter(
  (program) => spawnSync(program, ["--version"]).status === 0,
);

/** A server on a port that stays the same, with what it acknowledged on its disk. */
export class RedisNode implements AsyncDisposable {
  readonly port: number;
  readonly #start: () => Promise<ChildProcess>;
  #child: ChildProcess;

  private constructor(port: number, start: () => Promise<ChildProcess>, child: ChildProcess) {
    this.port = port;
    this.#start = start;
    this.#child = child;
  }

  static async start(program: string, folder: string): Promise<RedisNode> {
    const port = await freePort();
    const start = () => startServer(program, folder, port);
    return new RedisNode(port, start, await start());
  }

  /** `kill -9`, and a new process over the same data. */
  async restart(): Promise<void> {
    await this[Symbol.asyncDispose]();
    this.#child = await this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

async function startServer(program: string, folder: string, port: number): Promise<ChildProcess> {
  mkdirSync(folder, { recursive: true });
  const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  const options = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, ...durable];
  const child = spawn(program, options, { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.once("exit", () => reject(new Error(`${program} ended:\n${said}`)));
    child.stdout.on("data", (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-10_000);
      if (said.includes("eady to accept connections")) resolve();
    });
  });
  return child;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  server.close();
  await once(server, "close");
  return port;
}
