import { MillraceError } from "../../base/errors.ts";
import { chooseAgent } from "../../ide/apps/choose-agent.ts";
import type { AgentProgram, DiscoveryResult } from "../../ide/ide.ts";

/**
 * The program of the vendor's agent that prompts go to.
 *
 * @throws MillraceError `not_signed_in` where a program is installed that no account is signed in to, `ide_not_running` where none is.
 */
export function vendorProgram(result: Pick<DiscoveryResult, "agents">): AgentProgram {
  const chosen = chooseAgent(result);
  if (chosen !== undefined) return chosen.agent;
  const refused = refusals.get(result.agents) ?? refusalOf(result);
  refusals.set(result.agents, refused);
  throw refused;
}

/** By the agents that were found: a gateway asks before each prompt, and a new error captures the stack each time. */
const refusals = new WeakMap<DiscoveryResult["agents"], MillraceError>();

function refusalOf({ agents: [first] }: Pick<DiscoveryResult, "agents">): MillraceError {
  if (first !== undefined) {
    return new MillraceError("not_signed_in", `${first.product} is installed, but no account is signed in there.`, {
      hint: "Sign in inside Devin Desktop, or run `devin auth login`.",
    });
  }
  return new MillraceError("ide_not_running", "No `devin` program was found here.", {
    hint: "Install Devin Desktop or the Devin CLI, sign in there, and try again.",
  });
}
