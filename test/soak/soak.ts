import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Question } from "../crash/crash-client.ts";
import { TurnFailed } from "../crash/crash-client.ts";
import { Lives } from "../crash/lives.ts";
import { Progress } from "../crash/progress.ts";
import { AgentStandIn } from "./agent-stand-in.ts";
import { type Footprint, footprintOf, logFileOf } from "./footprint.ts";
import { type LogSize, logSizeOf } from "./log-size.ts";
import { soakClients } from "./soak-clients.ts";
import { type SoakUpstream, StandIn } from "./stand-in.ts";

/** How long nothing may happen before the run is given up; ms. */
const patienceMs = 120_000;
/** Of each answer, at least. */
const characters = 600;
/** The shortest that a gateway takes. */
const retention = "1m";

export interface Outcome {
  asked: number;
  answered: number;
  /** They ended as failed, and said why. */
  readonly failed: string[];
  readonly lost: string[];
}

/** What one window shows: the gateway's own footprint, and what is left at the IDE. */
export type Window = Footprint & {
  readonly openConversations: number;
  readonly conversationMiB: number;
  /** In the gateway's folder. */
  readonly homeFiles: number;
};

interface SoakOptions {
  readonly folder: string;
  readonly random: () => number;
  /** Over an agent in place of the IDE's server. */
  readonly acp: boolean;
  /** From one turn to the next; 0: as fast as they are answered. */
  readonly everyMs: number;
}

/** One IDE and one gateway after another, under load. */
export class Soak implements AsyncDisposable {
  readonly standIn: SoakUpstream;
  readonly atOnce = 8;
  readonly outcome: Outcome = { asked: 0, answered: 0, failed: [], lost: [] };
  readonly #lives: Lives;
  readonly #progress = new Progress(patienceMs);
  readonly #memoryFile: string;
  readonly #random: () => number;
  readonly #everyMs: number;
  #faults = 0;
  #nextAtMs = 0;

  private constructor(standIn: SoakUpstream, { folder, random, everyMs }: SoakOptions) {
    this.standIn = standIn;
    this.#random = random;
    this.#everyMs = everyMs;
    this.#memoryFile = join(folder, "memory.json");
    const preload = `--import ${join(import.meta.dirname, "tell-memory.ts")}`;
    this.#lives = new Lives(
      standIn.home,
      ["--retention", retention, "--grace", "10s"],
      () => this.#progress.note("a gateway listens"),
      { NODE_OPTIONS: preload, MILLRACE_TEST_MEMORY_FILE: this.#memoryFile },
    );
  }

  static async open(options: SoakOptions): Promise<Soak> {
    const soak = new Soak(options.acp ? await AgentStandIn.start() : await StandIn.start(), options);
    await soak.#lives.start();
    return soak;
  }

  get gatewayDeaths(): number {
    return this.#lives.deaths;
  }

  /** So many turns while the gateway is killed so often. */
  async restarts(turns: number, deaths: number): Promise<void> {
    const every = Math.max(1, Math.floor(turns / (deaths + 1)));
    let last = Promise.resolve();
    const replace = async () => {
      if (this.#lives.deaths === deaths) return;
      await this.#lives.kill();
      await this.#lives.start();
    };
    await this.#run(turns, async (nth) => {
      if (nth % every !== 0) return;
      last = last.then(replace); // one after the other, so that one gateway lives at a time
      await last;
    });
  }

  /** A gateway that has served nothing yet. */
  async freshGateway(): Promise<void> {
    await this.#lives.stop();
    await this.#lives.start();
  }

  /** So many owners' pages that show turns as they come. One that ends before it is closed is lost. */
  async openPages(count: number): Promise<AsyncDisposable> {
    const { url, key } = await this.#lives.current();
    const closing = new AbortController();
    const read = async () => {
      const response = await fetch(`${url}/dashboard/api/turns/feed`, {
        headers: { authorization: `Bearer ${key}` },
        signal: closing.signal,
      });
      for await (const _ of response.body ?? []);
      throw new Error(`the feed ended after ${response.status}`);
    };
    const pages = Array.from({ length: count }, (_, nth) =>
      read().catch((error: unknown) => {
        if (!closing.signal.aborted) this.outcome.lost.push(`page ${nth}: ${String(error)}`);
      }),
    );
    return {
      async [Symbol.asyncDispose]() {
        closing.abort();
        await Promise.all(pages);
      },
    };
  }

  /** So many turns over one gateway; calls to the IDE fail, and it may die once. */
  async load(turns: number, dies: boolean): Promise<void> {
    const death = dies ? Math.floor(turns * (0.3 + this.#random() * 0.5)) : -1;
    await this.#run(turns, async (nth) => {
      if (nth % 10 === 5) await this.standIn.befall(this.#faults++);
      if (nth === death) await this.standIn.crash();
    });
  }

  /** What is held while no turn runs and nothing kept has to be kept any longer. */
  async look(): Promise<Window> {
    const { open, mib } = await this.standIn.conversations();
    const gateway = await this.#lives.current();
    const footprint = await footprintOf(gateway, this.#memoryFile, this.standIn.home);
    const homeFiles = readdirSync(join(this.standIn.home, ".millrace"), { recursive: true }).length;
    return { ...footprint, openConversations: open, conversationMiB: mib, homeFiles };
  }

  /** The same after a time without a request. */
  async calm(seconds: number): Promise<Window> {
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    return this.look();
  }

  /** Waits until the retention has erased every answer; what is left of them after so many seconds. */
  async erased(seconds: number): Promise<LogSize> {
    const file = logFileOf(this.standIn.home);
    const untilMs = performance.now() + seconds * 1_000;
    for (;;) {
      const size = logSizeOf(file);
      if (size.keptTurns === 0 || performance.now() > untilMs) return size;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }

  async #run(turns: number, beside: (nth: number) => Promise<void>): Promise<void> {
    let left = turns;
    let nth = 0;
    const worker = async () => {
      while (left > 0) {
        left--;
        await this.#untilNext();
        const turn = this.#ask();
        await beside(++nth);
        await turn;
      }
    };
    await Promise.all(Array.from({ length: this.atOnce }, worker));
  }

  /** Turns that could not begin in time are not made up for. */
  async #untilNext(): Promise<void> {
    const nowMs = performance.now();
    const atMs = Math.max(nowMs, this.#nextAtMs);
    this.#nextAtMs = atMs + this.#everyMs;
    if (atMs > nowMs) await new Promise((resolve) => setTimeout(resolve, atMs - nowMs));
  }

  async #ask(): Promise<void> {
    const { outcome } = this;
    const nth = outcome.asked++;
    const client = soakClients[nth % soakClients.length];
    if (client === undefined) return;
    const name = `soak-${nth}-end`;
    const question: Question = { name, answer: answerOf(name), model: this.standIn.model, luck: [] };
    const { plain = (text: string) => text } = client;
    try {
      const got = await client.ask(this.#lives, question, this.#progress);
      this.#progress.note(`the answer of ${name}`);
      if (plain(got.text) !== plain(question.answer)) throw new Error(`it got ${got.text.length} characters`);
      if (new Set(got.wireIds).size !== got.wireIds.length) throw new Error("an event came twice");
      if (got.broken.length > 0) throw new Error(got.broken.join("; "));
      outcome.answered++;
    } catch (error) {
      const what = `${name} (${client.name}): ${error instanceof Error ? error.message : String(error)}`;
      (error instanceof TurnFailed ? outcome.failed : outcome.lost).push(what);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lives.stop();
    await this.standIn[Symbol.asyncDispose]();
    this.#progress[Symbol.dispose]();
  }
}

/** An answer that no other turn has. */
function answerOf(name: string): string {
  let text = "";
  for (let i = 0; text.length < characters; i++) text += `${name} says word ${i}; `;
  return text.trim();
}
