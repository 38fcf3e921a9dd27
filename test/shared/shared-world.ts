import { setTimeout as sleep } from "node:timers/promises";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { Balancer } from "../support/balancer.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/gateway-process.ts";
import { sharedStore } from "../support/shared-store.ts";
import { RedisNode } from "./redis-node.ts";

/** Shorter than the two minutes after which its home counts as gone. */
const awayMs = 14_000;

interface Member {
  readonly name: string;
  readonly link: Balancer;
  gateway: GatewayProcess;
}

/** Three gateways behind a balancer, over one store, with one IDE; and what befalls them. */
export class SharedWorld implements AsyncDisposable {
  readonly ide: Simulator;
  readonly balancer: Balancer;
  readonly #redis: RedisNode;
  readonly #members: Member[] = [];

  private constructor(ide: Simulator, redis: RedisNode, balancer: Balancer) {
    this.ide = ide;
    this.#redis = redis;
    this.balancer = balancer;
  }

  static async open(program: string, folder: string): Promise<SharedWorld> {
    const turn = { rate: 500, firstMs: 50, inputMs: 20 };
    const ide = await startSimulator({ turn, plan: { unlimited: true } });
    const world = new SharedWorld(ide, await RedisNode.start(program, folder), await Balancer.open([]));
    for (const name of ["a", "b", "c"]) {
      const link = await Balancer.open([world.#redis.port]);
      world.#members.push({ name, link, gateway: await world.#start(name, link) });
    }
    world.#balance();
    return world;
  }

  get url(): string {
    return `http://127.0.0.1:${this.balancer.port}`;
  }

  get key(): string {
    return this.#members[0]?.gateway.key ?? "";
  }

  get members(): number {
    return this.#members.length;
  }

  /** `kill -9`, and a new process over the same files. */
  async kill(nth: number): Promise<void> {
    const member = this.#member(nth);
    await member.gateway.kill();
    member.gateway = await this.#start(member.name, member.link);
    this.#balance();
  }

  /** The process stands still for a while, and wakes up where it stood. */
  async pause(nth: number): Promise<void> {
    const { pid } = this.#member(nth).gateway;
    process.kill(pid, "SIGSTOP");
    await sleep(awayMs);
    process.kill(pid, "SIGCONT");
  }

  /** The gateway and the store cannot reach each other; both go on. */
  async partition(nth: number): Promise<void> {
    const { link } = this.#member(nth);
    link.cut();
    await sleep(awayMs);
    link.mend();
  }

  /** The store's server is killed, and starts again over its data. */
  async restartStore(): Promise<void> {
    await this.#redis.restart();
    await sleep(4_000); // the gateways find it again
  }

  logs(): string {
    return this.#members.map(({ name, gateway }) => gateway.log().replace(/^/gm, `${name} `)).join("\n");
  }

  /** How often the IDE accepted each prompt. */
  async prompts(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { messages } = await this.ide.report();
    return new Map(names.map((name) => [name, messages.filter(({ text }) => text.includes(`${name}.`)).length]));
  }

  #member(nth: number): Member {
    const member = this.#members[nth % this.#members.length];
    if (member === undefined) throw new Error("there is no gateway");
    return member;
  }

  #balance(): void {
    this.balancer.targets = this.#members.map(({ gateway }) => Number(new URL(gateway.url).port));
  }

  #start(name: string, link: Balancer): Promise<GatewayProcess> {
    const { home } = this.ide;
    return startGatewayProcess({
      home,
      args: ["--continuity", "off", "--max-turns", "50"],
      env: sharedStore(`redis://127.0.0.1:${link.port}`, home, name),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { gateway, link } of this.#members) {
      await gateway.kill();
      await link[Symbol.asyncDispose]();
    }
    await this.balancer[Symbol.asyncDispose]();
    await this.#redis[Symbol.asyncDispose]();
    await this.ide.stop();
  }
}
