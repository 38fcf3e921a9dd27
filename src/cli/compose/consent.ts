import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { PromptedIde } from "../../backends/current-server.ts";
import { MillraceError } from "../../base/errors.ts";
import { ideName, variantOf } from "../../base/ide-name.ts";
import { remove } from "../../base/node/move-file.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import type { ConsentBook } from "../../gateway/http/options.ts";
import { chooseAgent } from "../../ide/apps/choose-agent.ts";
import type { DiscoveryResult, IdeFinder } from "../../ide/ide.ts";
import type { CommandContext } from "../command.ts";
import type { IdeOptions } from "../serve/gateway-options.ts";
import { foundByItself, promptable } from "../serve/servers.ts";
import { askYes, canAsk } from "../terminal/ask-yes.ts";
import { withFinder } from "./compose-ide.ts";

/** The text of the consent. The command, the question and the error all use it. */
export function spellConsent(product: string): string {
  const sdk = product.startsWith("Devin")
    ? " The vendor's own SDK drives the same agent program (docs.devin.ai/sdk)."
    : "";
  return `Millrace sends the prompts of your clients to ${product}. They use the plan of the account that is signed in there, as prompts in the IDE do. The vendor's terms apply to them.${sdk}`;
}

/** Since when the user agrees that prompts go to this IDE, as an ISO date; undefined if the user has not agreed. */
export function readConsent(folder: string, { variant }: Pick<PromptedIde, "variant">): string | undefined {
  const file = fileOf(folder, variant);
  return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
}

/** Remembers that the user agrees. Throws the file system's errors. */
export function giveConsent(folder: string, { variant }: Pick<PromptedIde, "variant">, nowMs: number): void {
  replaceFileSync(fileOf(folder, variant), `${new Date(nowMs).toISOString()}\n`);
}

/** Forgets every consent: the next prompt is refused again. Throws the file system's errors. */
export async function withdrawConsent(folder: string): Promise<void> {
  await remove(join(folder, "consent"), { recursive: true });
}

interface ConsentParts {
  /** Millrace's own folder. */
  readonly folder: string;
  /** Whether the user agreed beforehand, with `--accept`. */
  readonly accept: boolean;
  readonly nowMs: () => number;
}

/** Throws `consent_needed` before a prompt goes to an IDE that the user has not agreed to. A stand-in spends no plan and needs no consent. */
export function consentCheck({ folder, accept, nowMs }: ConsentParts): (ide: PromptedIde) => void {
  return (ide) => {
    if (ide.standIn === true || readConsent(folder, ide) !== undefined) return;
    if (accept) return giveConsent(folder, ide, nowMs());
    throw new MillraceError("consent_needed", `You have not agreed yet that prompts go to ${ide.product}.`);
  };
}

function fileOf(folder: string, variant: PromptedIde["variant"]): string {
  return join(folder, "consent", variant);
}

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

/**
 * Asks the user on a terminal, once, whether prompts may go to the IDE that is found here; with `accept` the answer is yes. Off a
 * terminal nothing is asked: the first prompt is refused then, and the error contains the next step.
 *
 * @throws MillraceError `consent_needed` for a no: the command ends.
 */
export async function askConsent(
  { accept, ...options }: IdeOptions & { readonly accept?: boolean | undefined },
  context: CommandContext,
): Promise<void> {
  const { io, out, settings, signal } = context;
  const hasAgreed = existsSync(join(settings.folder, "consent")); // for any IDE
  if (accept !== true && (hasAgreed || !canAsk(context))) return;
  const found = await withFinder(io, options, (finder) => finder.find(signal));
  for (const ide of unconsented(found, settings.folder)) {
    if (accept !== true) {
      out.note(spellConsent(ide.product));
      if (!(await askYes("Do you agree?", io)))
        throw new MillraceError("consent_needed", `Millrace sends no prompt to ${ide.product}.`, {
          hint: "Type `millrace init --accept` to allow it.",
        });
    }
    giveConsent(settings.folder, ide, io.clock.now());
  }
}

/** The consents as the dashboard shows and gives them. With `--accept`, nothing is left to agree to. */
export function consentBook(
  finder: Pick<IdeFinder, "find">,
  { folder, accept, nowMs, namesAgent }: ConsentParts & { readonly namesAgent: boolean },
): ConsentBook {
  const here = async (signal: AbortSignal) => {
    if (accept) return [];
    const found = await finder.find(signal);
    return promptedHere(namesAgent ? { ...found, agents: [] } : found); // an agent that the user named needs no consent
  };
  return {
    async list(signal) {
      return (await here(signal)).map(({ variant, product }) => ({
        ide: ideName(variant),
        product,
        text: spellConsent(product),
        acceptedAt: readConsent(folder, { variant }) ?? null,
      }));
    },
    async give(name, signal) {
      const ide = (await here(signal)).find(({ variant }) => variant === variantOf(name));
      if (ide !== undefined && readConsent(folder, ide) === undefined) giveConsent(folder, ide, nowMs());
      return ide !== undefined;
    },
  };
}
