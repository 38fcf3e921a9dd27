import type { PromptedIde } from "../../backends/agents.ts";
import { chooseAgent } from "../../ide/apps/choose-agent.ts";
import type { DiscoveryResult } from "../../ide/ide.ts";
import type { CommandContext } from "../command.ts";
import { composeIdeFinder } from "../compose/compose-ide.ts";
import { type IdeOptions, overridesOf } from "../serve/ide-options.ts";
import { foundByItself, promptable } from "../serve/servers.ts";
import { askYes, canAsk } from "../terminal/ask-yes.ts";
import { giveConsent, hasConsented, readConsent, spellConsent } from "./consent.ts";

/** The products here that prompts would go to, one for each plan, and that the user has not agreed to. */
export function unconsented(result: DiscoveryResult, folder: string): readonly PromptedIde[] {
  return promptedHere(result).filter((ide) => readConsent(folder, ide) === undefined);
}

/** The products here that prompts would go to, one for each plan. Stand-ins spend no plan and are left out. */
export function promptedHere(result: DiscoveryResult): readonly PromptedIde[] {
  const ide = foundByItself(promptable(result).find(({ signedIn }) => signedIn));
  const found: PromptedIde[] = [ide, chooseAgent(result)?.agent].filter((each) => each !== undefined);
  const real = found.filter(({ standIn }) => standIn !== true);
  return real.filter(({ variant }, at) => real.findIndex((other) => other.variant === variant) === at);
}

/** Runs one discovery on this machine. */
export async function discoverHere(options: IdeOptions, { io, signal }: CommandContext): Promise<DiscoveryResult> {
  const finder = composeIdeFinder(io, overridesOf(io, options));
  return finder.find(signal).finally(() => finder.close());
}

/**
 * Asks the user on a terminal, once, whether prompts may go to the IDE that is found here; with `accept` the answer is yes. Off a
 * terminal nothing is asked: the first prompt is refused then, and the error contains the next step.
 */
export async function askConsent(
  { accept, ...options }: IdeOptions & { readonly accept?: boolean | undefined },
  context: CommandContext,
): Promise<void> {
  const { io, out, settings } = context;
  if (accept !== true && (!canAsk(context) || hasConsented(settings.folder))) return;
  for (const ide of unconsented(await discoverHere(options, context), settings.folder)) {
    if (accept !== true) {
      out.note(spellConsent(ide.product));
      if (!(await askYes("Do you agree?", io))) {
        out.note("Millrace sends no prompt there. Type `millrace init --accept` to allow it.");
        continue;
      }
    }
    giveConsent(settings.folder, ide, io.clock.now());
  }
}
