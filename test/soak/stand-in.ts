import { randomBytes } from "node:crypto";
import type { RpcFault } from "../../src/simulator/faults/rpc-fault.ts";
import { type Simulator, startSimulator } from "../../src/simulator/start.ts";
import { TrajectoryFiles } from "../../src/simulator/trajectory/trajectory-files.ts";
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

/** The IDE of a soak: answers at once, dies, and counts every prompt over all its lives. */
export class StandIn implements AsyncDisposable {
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
    this.#last = next.catch(() => {}); // whoever asked for it is told
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
    const sizes = { start: 0, perStep: 0, archived: 0 }; // nothing is written here
    const seen = new Set<string>();
    for (const { cascadeId, steps } of await new TrajectoryFiles(
      this.simulator.layout.cascades,
      sizes,
      randomBytes,
    ).load()) {
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
