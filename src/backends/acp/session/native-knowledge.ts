/**
 * How a client's tools reach an agent. `auto`: as its own, unless this version did not take them before; `native`: every new conversation
 * tries that again; `prose`: never. An agent that does not ask for them gets prose in any case.
 */
export const toolWays = ["auto", "native", "prose"] as const;
export type ToolWay = (typeof toolWays)[number];

/** Which versions of an agent do not take the tools of a session, as this gateway saw it. What was never seen is tried. */
export class NativeKnowledge {
  readonly #way: ToolWay;
  readonly #without = new Set<string>();
  readonly #unchanged = new Set<string>();

  constructor(way: ToolWay) {
    this.#way = way;
  }

  /** Whether to offer tools to this version. */
  mayOffer(version: string): boolean {
    return this.#way === "native" || (this.#way === "auto" && !this.#without.has(version));
  }

  /** Whether to change the tools of a session of this version. */
  mayChange(version: string): boolean {
    return !this.#unchanged.has(version);
  }

  /** It did not ask for the tools of a session, or did not use them. */
  noteWithout(version: string): void {
    this.#without.add(version);
  }

  /** It did not list tools again that had changed. */
  noteUnchanged(version: string): void {
    this.#unchanged.add(version);
  }
}
