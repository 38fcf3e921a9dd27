import { randomBytes } from "node:crypto";
import { type RpcFault, type Simulator, startSimulator } from "../../simulator/index.ts";
import { TrajectoryFiles } from "../../simulator/parts.ts";
import { bytesIn } from "./footprint.ts";

/** One of these befalls one call each time. */
const faults: readonly RpcFault[] = [
  { rpc: "StartCascade", times: 1, error: { code: "unavailable", message: "the server is starting" } },
  { rpc: "SendUserCascadeMessage", times: 1, errorAfter: { code: "unavailable", message: "the connection broke" } },
  { rpc: "GetCascadeTrajectorySteps", times: 2, dropAfterBytes: 20 },
  { rpc: "GetCascadeTrajectory", times: 2, dropAfterBytes: 3 },
  { rpc: "GetCascadeTrajectorySteps", times: 2, garbled: true },
  { rpc: "ArchiveCascadeTrajectory", times: 2, error: { code: "internal", message: "it did not work" } },
  { rpc: "SendUserCascadeMessage", times: 1, csrf: true },
];

/** What the gateway of a soak asks. */
export interface SoakUpstream extends AsyncDisposable {
  readonly home: string;
  readonly model: string;
  /** Calls that it was made to fail. */
  readonly faults: number;
  readonly deaths: number;
  /** Kills it as `kill -9` does; another one takes its place. */
  crash(): Promise<void>;
  /** The next call of one kind fails, where its calls can. */
  befall(nth: number): Promise<void>;
  /** Conversations that are neither archived nor deleted, and what all files take. */
  conversations(): Promise<{ readonly open: number; readonly mib: number }>;
  /** How many prompts there were in all, and which were there twice. */
  prompts(): Promise<{ readonly accepted: number; readonly twice: readonly string[] }>;
}

/** The IDE of a soak: answers at once, dies, and counts every prompt over all its lives. */
export class StandIn implements SoakUpstream {
  readonly model = "claude-sonnet-4.6";
  readonly simulator: Simulator;
  /** Prompts that one life accepted more than once. */
  readonly #twice = new Set<string>();
  #accepted = 0;
  #deaths = 0;
  #faults = 0;
  #last: Promise<void> = Promise.resolve();

  private constructor(simulator: Simulator) {
    this.simulator = simulator;
  }

  static async start(): Promise<StandIn> {
    const turn = { rate: "instant", inputMs: 0, firstMs: 0, thinking: 0 } as const;
    return new StandIn(await startSimulator({ turn, plan: { unlimited: true } }));
  }

  get home(): string {
    return this.simulator.home;
  }

  get deaths(): number {
    return this.#deaths;
  }

  get faults(): number {
    return this.#faults;
  }

  /** Kills it as `kill -9` does, with all that it remembers and has not written; another one takes its place. */
  crash(): Promise<void> {
    return this.#next(async () => {
      await this.#count();
      this.#deaths++;
      await this.simulator.restart({ crash: true });
    });
  }

  /** The next call of one kind fails. */
  befall(nth: number): Promise<void> {
    const fault = faults[nth % faults.length];
    if (fault === undefined) return Promise.resolve();
    this.#faults += fault.times ?? 1;
    return this.#next(() => this.simulator.setFaults([fault]));
  }

  /** One after the other: it hears nothing while it is dead. */
  #next(what: () => Promise<void>): Promise<void> {
    const next = this.#last.then(what);
    this.#last = next.catch(() => {}); // the caller gets the error
    return next;
  }

  /** Conversations that are neither archived nor deleted, and what all files take. */
  async conversations(): Promise<{ readonly open: number; readonly files: number; readonly mib: number }> {
    const { cascades } = await this.simulator.report();
    const open = cascades.filter(({ archived }) => !archived).length;
    return { open, files: cascades.length, mib: bytesIn(this.simulator.layout.cascades) / 2 ** 20 };
  }

  /** How many prompts there were in all, and which were there twice: in one life, or in the files of all lives. */
  async prompts(): Promise<{ readonly accepted: number; readonly twice: readonly string[] }> {
    await this.#count();
    const seen = new Set<string>();
    for (const { cascadeId, steps } of await new TrajectoryFiles(this.simulator.layout.cascades, randomBytes).load()) {
      for (const { step } of steps) {
        if (step.case === "userInput") this.#note(seen, cascadeId, step.value.userResponse);
      }
    }
    return { accepted: this.#accepted, twice: [...this.#twice] };
  }

  /** Of the life that runs now. */
  async #count(): Promise<void> {
    const { messages } = await this.simulator.report();
    const seen = new Set<string>();
    this.#accepted += messages.length;
    for (const { cascadeId, text } of messages) this.#note(seen, cascadeId, text);
  }

  /** A prompt names its question; the result of a tool says only in which conversation it belongs. */
  #note(seen: Set<string>, cascadeId: string, text: string): void {
    const prompt = /soak-\d+-end/.test(text) ? text : `${cascadeId}: ${text}`;
    if (seen.has(prompt)) this.#twice.add(prompt);
    seen.add(prompt);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.simulator.stop();
  }
}
