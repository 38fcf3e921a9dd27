import { MillraceError } from "../../base/errors.ts";
import type { AgentProgram, DiscoveryResult } from "../../ide/ide.ts";

/**
 * The program of the vendor's agent that prompts go to: the first that somebody is signed in to.
 *
 * @throws MillraceError `not_signed_in` where a program is installed, `ide_not_running` where none is.
 */
export function chooseAgent({ agents }: DiscoveryResult): AgentProgram {
  const candidates = agents.filter(({ variant }) => variant !== "antigravity");
  const [first] = candidates;
  const agent = candidates.find(({ signedIn }) => signedIn !== "no");
  if (agent !== undefined) return agent;
  if (first !== undefined) {
    throw new MillraceError("not_signed_in", `${first.product} is installed, but nobody is signed in there.`, {
      hint: "Sign in inside Devin Desktop, or run `devin auth login`.",
    });
  }
  throw new MillraceError("ide_not_running", "No Devin Desktop and no Devin CLI was found here.", {
    hint: "Install Devin Desktop or the Devin CLI, sign in there, and try again.",
  });
}
