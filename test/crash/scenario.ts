import { type Simulator, startSimulator } from "../../src/simulator/start.ts";
import { pinnedTo } from "../support/pinned.ts";
import { checkTurn } from "./check-turn.ts";
import { type Death, Lives } from "./lives.ts";
import { askUntilAnswered } from "./tenacious-client.ts";

/** What happens to the gateway while turns run. */
export type Fate =
  | { readonly kind: "none" }
  /** It dies at a write of its own. */
  | ({ readonly kind: "write" } & Death)
  /** It is killed so long after the turns were asked for. */
  | { readonly kind: "time"; readonly afterMs: number }
  /** It is killed when the simulator has seen the nth such call of this batch. */
  | { readonly kind: "call"; readonly rpc: string; readonly nth: number };

export interface Outcome {
  readonly turns: number;
  readonly deaths: number;
  /** Connections of all clients together: one per turn if nothing happened. */
  readonly connections: number;
  /** Broken promises, in words; none if all is well. */
  readonly broken: readonly string[];
  readonly writes: number | undefined;
}

/** Long enough for any machine: whoever waits this long has found a turn that hangs. */
const patienceMs = 300_000;

/** A world to crash gateways in: one simulator, one store that every gateway inherits. */
export class CrashWorld implements AsyncDisposable {
  readonly #simulator: Simulator;
  readonly #args: readonly string[];
  #batches = 0;

  private constructor(simulator: Simulator) {
    this.#simulator = simulator;
    this.#args = [...pinnedTo(simulator), "--continuity", "off"];
  }

  static async open(): Promise<CrashWorld> {
    const turn = { rate: 400, chunk: 8, inputMs: 20, firstMs: 60, thinking: 0 };
    return new CrashWorld(await startSimulator({ turn, plan: { unlimited: true } }));
  }

  /**
   * Asks `turns` questions at once, each with an answer of `characters` at least, lets each fate happen in its turn, and
   * holds every promise against what came out.
   */
  async run(turns: number, characters: number, fates: readonly Fate[]): Promise<Outcome> {
    const batch = this.#batches++;
    const signal = AbortSignal.timeout(patienceMs);
    const lives = new Lives(this.#simulator.home, this.#args);
    const before = (await this.#simulator.report()).calls;
    await lives.start(deathOf(fates[0]));
    const asked = Array.from({ length: turns }, (_, i) => {
      const name = `batch-${batch}-turn-${i}-end`;
      const text = answerOf(name, characters);
      const question = `${name}. [[sim: text="${text}"]]`;
      const received = askUntilAnswered(lives, question, `key-of-${name}`, signal);
      received.catch(() => {}); // looked at below, after all fates
      return { name, text, received };
    });
    const allAnswered = Promise.allSettled(asked.map(({ received }) => received)).then(() => "answered" as const);
    for (const [i, fate] of fates.entries()) {
      const fell = await Promise.race([this.#befall(lives, fate, before, signal), allAnswered]);
      if (fell === "answered") {
        if (fate.kind === "write") await lives.replace(); // it may still reach that write, while it is looked at
        break;
      }
      await lives.start(deathOf(fates[i + 1]));
    }
    const broken: string[] = [];
    let connections = 0;
    for (const { name, text, received } of asked) {
      try {
        const got = await received;
        connections += got.connections;
        broken.push(...(await checkTurn(await lives.current(), got, text)).map((what) => `${name}: ${what}`));
      } catch (error) {
        broken.push(`${name}: ${error instanceof Error ? error.message : String(error)}; ${await seen(lives, name)}`);
      }
    }
    const report = await this.#simulator
      .until(({ cascades }) => cascades.every((cascade) => cascade.messages === 0 || cascade.archived), signal)
      .catch(() => this.#simulator.report());
    const open = report.cascades.filter(({ messages, archived }) => messages > 0 && !archived).length;
    if (open > 0) broken.push(`${open} trajectories were not archived`);
    for (const { name } of asked) {
      const accepted = report.messages.filter((message) => message.text.includes(name)).length;
      if (accepted !== 1) broken.push(`${name}: the simulator accepted its prompt ${accepted} times`);
    }
    const log = await lives.stop();
    const writes = /writes to the store: (\d+)/.exec(log)?.[1];
    return {
      turns,
      deaths: lives.deaths,
      connections,
      broken,
      writes: writes === undefined ? undefined : Number(writes),
    };
  }

  async #befall(lives: Lives, fate: Fate, before: Calls, signal: AbortSignal): Promise<"died"> {
    switch (fate.kind) {
      case "none":
        await new Promise(() => {}); // until every turn is answered
        break;
      case "write":
        await lives.untilDead();
        break;
      case "time":
        await new Promise((resolve) => setTimeout(resolve, fate.afterMs));
        await lives.kill();
        break;
      case "call":
        await this.#simulator.until(
          ({ calls }) => (calls[fate.rpc] ?? 0) - (before[fate.rpc] ?? 0) >= fate.nth,
          signal,
        );
        await lives.kill();
        break;
    }
    return "died";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#simulator.stop();
  }
}

/** What the gateway that lives now knows of a turn, for the report of one that went wrong. */
async function seen(lives: Lives, name: string): Promise<string> {
  const { url, key } = await lives.current();
  const headers = { authorization: `Bearer ${key}` };
  const listed = await fetch(`${url}/v1/turns?limit=1000`, { headers, signal: AbortSignal.timeout(10_000) });
  const { data } = (await listed.json()) as { readonly data: readonly { readonly idempotency_key: string }[] };
  return `the gateway has ${JSON.stringify(data.find((turn) => turn.idempotency_key === `key-of-${name}`))}`;
}

type Calls = Readonly<Record<string, number>>;

function deathOf(fate: Fate | undefined): Death | undefined {
  return fate?.kind === "write" ? fate : undefined;
}

/** An answer that no other turn has. */
function answerOf(name: string, characters: number): string {
  let text = "";
  for (let i = 0; text.length < characters; i++) text += `${name} says word ${i}; `;
  return text.trim();
}
