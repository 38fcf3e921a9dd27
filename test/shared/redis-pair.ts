import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "redis";

/** The servers that can be started here. Both speak the same protocol, under the same options. */
export const serverPrograms = ["redis-server", "valkey-server"].filter(
  (program) => spawnSync(program, ["--version"]).status === 0,
);

interface Node {
  readonly port: number;
  readonly child: ChildProcess;
}

/** A server and its replica, which follows asynchronously. */
export class RedisPair implements AsyncDisposable {
  readonly #program: string;
  readonly #folder: string;
  #primary: Node;
  #replica: Node | undefined;
  #lives = 0;

  private constructor(program: string, folder: string, primary: Node) {
    this.#program = program;
    this.#folder = folder;
    this.#primary = primary;
  }

  /** The replica reaches its primary at the port that `via` answers for the primary's. */
  static async start(
    program: string,
    folder: string,
    via: (port: number) => Promise<number> = async (port) => port,
  ): Promise<RedisPair> {
    const pair = new RedisPair(program, folder, await startNode(program, join(folder, "redis-0")));
    await pair.addReplica(await via(pair.port));
    return pair;
  }

  get port(): number {
    return this.#primary.port;
  }

  /** Resolves once the replica has all that the primary has. */
  async addReplica(port: number = this.#primary.port): Promise<void> {
    this.#lives++;
    const folder = join(this.#folder, `redis-${this.#lives}`);
    const replica = await startNode(this.#program, folder, ["--replicaof", "127.0.0.1", String(port)]);
    this.#replica = replica;
    while (!(await info(replica.port)).includes("master_link_status:up")) await sleep(50);
  }

  /** The primary dies, and the replica takes its place with what it has. */
  async failOver(): Promise<void> {
    const replica = this.#replica;
    if (replica === undefined) throw new Error("there is no replica");
    await stopNode(this.#primary);
    const client = await createClient({ url: `redis://127.0.0.1:${replica.port}` }).connect();
    await client.sendCommand(["REPLICAOF", "NO", "ONE"]);
    client.destroy();
    this.#primary = replica;
    this.#replica = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stopNode(this.#primary);
    if (this.#replica !== undefined) await stopNode(this.#replica);
  }
}

async function startNode(program: string, folder: string, more: readonly string[] = []): Promise<Node> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const options = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes"];
  const quick = ["--repl-diskless-sync-delay", "0"];
  const child = spawn(program, [...options, ...quick, ...more], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.once("exit", () => reject(new Error(`${program} ended:\n${said}`)));
    child.stdout.on("data", (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-10_000);
      if (said.includes("eady to accept connections")) resolve();
    });
  });
  return { port, child };
}

async function stopNode({ child }: Node): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

async function info(port: number): Promise<string> {
  const client = await createClient({ url: `redis://127.0.0.1:${port}` }).connect();
  const said = await client.info("replication");
  client.destroy();
  return said;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  server.close();
  await once(server, "close");
  return port;
}
