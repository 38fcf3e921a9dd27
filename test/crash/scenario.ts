import { type Calls, openUpstream, type Upstream, type UpstreamName } from "../support/upstream.ts";
import { checkCut, checkTurn } from "./check-turn.ts";
import { type CrashClient, type Question, TurnFailed } from "./crash-client.ts";
import { type Death, Lives } from "./lives.ts";
import { Progress, Stalled } from "./progress.ts";

/** What happens to the gateway while turns run. */
export type Fate =
  | { readonly kind: "none" }
  /** It dies at a write of its own. */
  | ({ readonly kind: "write" } & Death)
  /** It is killed so long after the turns were asked for; `SIGTERM`: it is stopped in order. */
  | { readonly kind: "time"; readonly afterMs: number; readonly signal?: "SIGTERM" }
  /** It is killed when the simulator has seen the nth such call of this batch. */
  | { readonly kind: "call"; readonly rpc: string; readonly nth: number; readonly signal?: "SIGTERM" }
  /** The agent or its host is killed then, alone or with the gateway. */
  | { readonly kind: "agent" | "host"; readonly rpc: string; readonly nth: number; readonly alone: boolean };

/** What came of one question. */
export interface TurnOutcome {
  readonly client: string;
  readonly name: string;
  /** Connections over all its lives: one if nothing happened. */
  readonly connections: number;
  /** How often its client was killed. */
  readonly clientDeaths: number;
  /** Broken promises, in words; none if all is well. */
  readonly broken: readonly string[];
  /** The turn ended as failed and said why: its client knows where it stands. */
  readonly failed: string | undefined;
  /** It failed by name because its agent died while it answered, and kept what had arrived: all that can be had then. */
  readonly cut: string | undefined;
  /** Why nobody can say: nothing moved any more. A late answer is not a lost one, and is not counted as one. */
  readonly stalled: string | undefined;
}

export interface Outcome {
  /** Of the gateway. */
  readonly deaths: number;
  readonly turns: readonly TurnOutcome[];
  /** Promises that are broken for the batch as a whole. */
  readonly broken: readonly string[];
  /** How many writes to the store the last gateway made. */
  readonly writes: number | undefined;
}

export interface Batch {
  /** Who asks; one question each. */
  readonly clients: readonly CrashClient[];
  /** Of each answer, at least. */
  readonly characters: number;
  readonly fates: readonly Fate[];
  /** 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** How often a client that dies does. */
  readonly clientDeaths: number;
}

interface Asked {
  readonly client: CrashClient;
  readonly question: Question;
  readonly received: ReturnType<CrashClient["ask"]>;
}

/** A world to crash gateways in: one simulator, one store that every gateway inherits. */
export class CrashWorld implements AsyncDisposable {
  readonly #upstream: Upstream;
  readonly #args: readonly string[];
  readonly #patienceMs: number;
  #batches = 0;

  private constructor(upstream: Upstream, patienceMs: number) {
    this.#upstream = upstream;
    this.#args = [...upstream.args, "--continuity", "off"];
    this.#patienceMs = patienceMs;
  }

  /** `patienceMs`: how long nothing at all may happen before a turn counts as stalled. */
  static async open(patienceMs: number, upstream: UpstreamName = "Cascade"): Promise<CrashWorld> {
    const turn = { rate: 400, chunk: 8, inputMs: 20, firstMs: 60, thinking: 0 };
    return new CrashWorld(await openUpstream(upstream, turn), patienceMs);
  }

  /** Asks all questions at once, lets each fate happen in its turn, and holds every promise against what came out. */
  async run({ clients, characters, fates, random, clientDeaths }: Batch): Promise<Outcome> {
    const batch = this.#batches++;
    using progress = new Progress(this.#patienceMs);
    const lives = new Lives(this.#upstream.home, this.#args, () => progress.note("a gateway listens"));
    const before = await this.#upstream.calls();
    await lives.start(deathOf(fates[0]));
    const asked = clients.map((client, i): Asked => {
      const name = `batch-${batch}-turn-${i}-end`;
      const luck = Array.from({ length: clientDeaths }, random);
      const question = { name, answer: answerOf(name, characters), model: this.#upstream.model, luck };
      const received = client.ask(lives, question, progress);
      received.catch(() => {}); // looked at below, after all fates
      return { client, question, received };
    });
    const allAnswered = Promise.allSettled(asked.map(({ received }) => received)).then(() => "answered" as const);
    for (const [i, fate] of fates.entries()) {
      const fell = await Promise.race([this.#befall(lives, fate, before, progress), allAnswered]);
      if (fell === "answered") {
        if (fate.kind === "write") await lives.replace(); // it may still reach that write, while it is looked at
        break;
      }
      const next = deathOf(fates[i + 1]);
      if (fell === "lives on" && next === undefined) continue;
      if (fell === "lives on") await lives.kill();
      await lives.start(next);
    }
    const mayCut = this.#upstream.cuts && fates.some(({ kind }) => kind === "agent" || kind === "host");
    const turns = await Promise.all(asked.map((one) => this.#judge(one, lives, mayCut)));
    const broken: string[] = [];
    await this.#upstream
      .untilTidy(() => progress.note("a call upstream"), progress.signal)
      .catch((error: unknown) => {
        if (!progress.signal.aborted) throw error; // what is left open is counted below
      });
    const open = await this.#upstream.untidy();
    if (open > 0 && turns.every(({ failed, stalled }) => failed === undefined && stalled === undefined))
      broken.push(`${open} conversations were not archived`);
    const log = await lives.stop();
    const writes = /writes to the store: (\d+)/.exec(log)?.[1];
    const prompts = await this.#upstream.prompts();
    return {
      turns: turns.map((turn, i) => withPrompts(turn, clients[i]?.prompts ?? 0, prompts)),
      deaths: lives.deaths,
      broken,
      writes: writes === undefined ? undefined : Number(writes),
    };
  }

  async #judge({ client, question, received }: Asked, lives: Lives, mayCut: boolean): Promise<TurnOutcome> {
    const about = { client: client.name, name: question.name };
    try {
      const got = await received;
      const broken = await checkTurn(await lives.current(), got, question, client);
      return {
        ...about,
        connections: got.connections,
        clientDeaths: got.deaths,
        broken,
        failed: undefined,
        cut: undefined,
        stalled: undefined,
      };
    } catch (error) {
      const nothing = { ...about, connections: 0, clientDeaths: 0 };
      const what = `${error instanceof Error ? error.message : String(error)}; ${await seen(lives, question.name)}`;
      const unclear = { ...nothing, broken: [], failed: undefined, cut: undefined, stalled: undefined };
      if (error instanceof Stalled) return { ...unclear, stalled: what };
      if (error instanceof TurnFailed && error.left !== undefined && mayCut) {
        const broken = await checkCut(await lives.current(), error.left, question, client).catch((why) => [
          String(why),
        ]);
        return { ...unclear, cut: what, broken: broken.map((each) => `${each}; ${what}`) };
      }
      if (error instanceof TurnFailed) return { ...unclear, failed: what };
      return { ...unclear, broken: [what] };
    }
  }

  async #befall(lives: Lives, fate: Fate, before: Calls, { signal }: Progress): Promise<"died" | "lives on"> {
    switch (fate.kind) {
      case "none":
        await new Promise(() => {}); // until every turn is answered
        break;
      case "write":
        await lives.untilDead();
        break;
      case "time":
        await new Promise((resolve) => setTimeout(resolve, fate.afterMs));
        await lives.kill(fate.signal);
        break;
      case "call":
        await this.#untilCalled(fate, before, signal);
        await lives.kill(fate.signal);
        break;
      case "agent":
      case "host":
        await this.#untilCalled(fate, before, signal);
        if (fate.kind === "agent") this.#upstream.killAgent();
        else await this.#upstream.killHosts();
        if (fate.alone) return "lives on";
        await lives.kill();
        break;
      default:
        fate satisfies never;
    }
    return "died";
  }

  async #untilCalled({ rpc, nth }: { readonly rpc: string; readonly nth: number }, before: Calls, signal: AbortSignal) {
    try {
      await this.#upstream.untilCalled((calls) => (calls[rpc] ?? 0) - (before[rpc] ?? 0) >= nth, signal);
    } catch (error) {
      if (!signal.aborted) throw error; // a stall ends every turn, and with them the batch
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#upstream[Symbol.asyncDispose]();
  }
}

/** What the gateway that lives now knows of a turn, for the report of one that went wrong. */
async function seen(lives: Lives, name: string): Promise<string> {
  const { url, key } = await lives.current();
  const headers = { authorization: `Bearer ${key}` };
  try {
    const listed = await fetch(`${url}/v1/turns?limit=1000`, { headers, signal: AbortSignal.timeout(10_000) });
    const { data } = (await listed.json()) as { readonly data: readonly { readonly idempotency_key: string }[] };
    return `the gateway has ${JSON.stringify(data.find((turn) => turn.idempotency_key === `key-of-${name}`))}`;
  } catch (error) {
    return `the gateway does not say what it has: ${String(error)}`;
  }
}

/**
 * The outcome with what its prompts say: one for each answer of the model, and none twice. The stand-in stores a prompt before it
 * counts it, so an agent that was killed in between leaves a cut turn without a counted prompt.
 */
function withPrompts(turn: TurnOutcome, wanted: number, prompts: readonly string[]): TurnOutcome {
  const accepted = prompts.filter((text) => text.includes(turn.name)).length;
  const isIncomplete = turn.stalled !== undefined || turn.failed !== undefined || turn.cut !== undefined;
  if (accepted === wanted || (isIncomplete && accepted < wanted)) return turn;
  return { ...turn, broken: [...turn.broken, `${accepted} prompts were accepted, not ${wanted}; ${turn.cut ?? ""}`] };
}

function deathOf(fate: Fate | undefined): Death | undefined {
  return fate?.kind === "write" ? fate : undefined;
}

/** An answer that no other turn has. */
function answerOf(name: string, characters: number): string {
  let text = "";
  for (let i = 0; text.length < characters; i++) text += `${name} says word ${i}; `;
  return text.trim();
}
