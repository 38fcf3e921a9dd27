import type { AgentProgram, DiscoveryResult } from "../ide.ts";

/** An agent program to ask, and why this one. */
export interface ChosenAgent {
  readonly agent: AgentProgram;
  /** A sentence part for a person: "signed in by its own credentials". */
  readonly why: string;
}

/**
 * The agent program for prompts: the first in the discovery's order that has a signed-in account. Undefined when there is none;
 * `withoutAnyAgent` gives the reason.
 */
export function chooseAgent({ agents }: Pick<DiscoveryResult, "agents">): ChosenAgent | undefined {
  const agent = agents.find(({ signedIn }) => signedIn !== "no");
  if (agent === undefined) return undefined;
  const how = agent.signedIn === "own" ? "signed in by its own credentials" : "the app's database holds a key for it";
  const others = agents.length - 1;
  return { agent, why: others === 0 ? how : `${how}; preferred to ${others} other${others === 1 ? "" : "s"}` };
}
