import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { type RawAttach, rawClient, type TierName } from "../../src/gateway/streams/raw-client.fake.ts";
import { headersOf, type StreamNames } from "../../src/gateway/streams/stream-world.fake.ts";
import { CuttingProxy } from "../cut/cutting-proxy.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/gateway-process.ts";
import { pinnedTo } from "../support/pinned.ts";
import { patience } from "../support/world.ts";

/** A real gateway, which can die, a real stand-in IDE, and connections whose answers get lost. */
export class AbortWorld implements AsyncDisposable {
  readonly ide: Simulator;
  #gateway: GatewayProcess;

  private constructor(ide: Simulator, gateway: GatewayProcess) {
    this.ide = ide;
    this.#gateway = gateway;
  }

  static async open(): Promise<AbortWorld> {
    const turn = { rate: 400, chunk: 5, inputMs: 20, firstMs: 40 };
    const ide = await startSimulator({ turn, plan: { unlimited: true } });
    return new AbortWorld(ide, await serve(ide));
  }

  get gateway(): Pick<GatewayProcess, "url" | "key"> {
    return this.#gateway;
  }

  /** Kills the gateway (`SIGKILL`) and starts it again on what it left. */
  async die(): Promise<void> {
    await this.#gateway.kill();
    this.#gateway = await serve(this.ide);
  }

  attach(tier: TierName, names: StreamNames, more: Readonly<Record<string, string>> = {}): RawAttach {
    return rawClient(this.gateway).attach(tier, headersOf(names, "0", more));
  }

  /** The work with a URL whose connections are cut after the first byte of an answer: all that is asked arrives. */
  async withLostAnswers(work: (gateway: Pick<GatewayProcess, "url" | "key">) => Promise<unknown>): Promise<void> {
    await using proxy = await CuttingProxy.open(Number(new URL(this.gateway.url).port));
    proxy.cut = { direction: "down", afterBytes: 1, how: "rst" };
    await work({ url: `http://127.0.0.1:${proxy.port}`, key: this.gateway.key });
  }

  async read(path: string): Promise<string> {
    const { url, key } = this.gateway;
    return (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })).text();
  }

  /** What the IDE still does, or keeps in its history, long after everything was ended. */
  async leftBehind(): Promise<readonly string[]> {
    const isOver = ({ cascades }: Report) => cascades.every((cascade) => isGone(cascade));
    const { cascades, messages, cancels } = await this.ide.until(isOver, patience()).catch(() => this.ide.report());
    const broken = cascades
      .filter((cascade) => !isGone(cascade))
      .map(({ cascadeId, status, archived }) => {
        const prompts = messages.filter((message) => message.cascadeId === cascadeId).map(({ text }) => text);
        return `a cascade is ${status}, archived: ${archived}, prompts: ${JSON.stringify(prompts).slice(0, 200)}`;
      });
    return cancels.length > 0 ? broken : [...broken, "nothing was cancelled"];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway.stop();
    await this.ide.stop();
  }
}

type Report = Awaited<ReturnType<Simulator["report"]>>;

function isGone({ status, archived }: Report["cascades"][number]): boolean {
  return status === "idle" && archived;
}

function serve(ide: Simulator): Promise<GatewayProcess> {
  // a trajectory that is kept for the next turn of its conversation is not archived at the end of this one
  return startGatewayProcess({ home: ide.home, args: [...pinnedTo(ide), "--continuity", "off"] });
}
