import { openUpstream, type Upstream } from "../support/upstream.ts";
import type { SoakUpstream } from "./stand-in.ts";

/** The agent of a soak over ACP: answers at once, and dies. None of its calls fails otherwise. */
export class AgentStandIn implements SoakUpstream {
  readonly faults = 0;
  deaths = 0;
  readonly #upstream: Upstream;

  private constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  static async start(): Promise<AgentStandIn> {
    return new AgentStandIn(await openUpstream("ACP", { rate: "instant", inputMs: 0, firstMs: 0, thinking: 0 }));
  }

  get home(): string {
    return this.#upstream.home;
  }

  get model(): string {
    return this.#upstream.model;
  }

  async befall(): Promise<void> {}

  async crash(): Promise<void> {
    this.deaths++;
    this.#upstream.killAgent();
  }

  async conversations(): Promise<{ readonly open: number; readonly mib: number }> {
    return { open: await this.#upstream.untidy(), mib: 0 };
  }

  /** Counted over all its processes. The prompts of a loop of calls hold its question too, but no two are equal. */
  async prompts(): Promise<{ readonly accepted: number; readonly twice: readonly string[] }> {
    const texts = await this.#upstream.prompts();
    return { accepted: texts.length, twice: texts.filter((text, at) => texts.indexOf(text) !== at) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#upstream[Symbol.asyncDispose]());
  }
}
