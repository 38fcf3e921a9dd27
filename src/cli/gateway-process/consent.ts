import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { PromptedIde } from "../../backends/agents.ts";
import { MillraceError } from "../../base/errors.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";

/** The text of the consent. The command, the question and the error all use it. */
export function spellConsent(product: string): string {
  return `Millrace sends the prompts of your clients to ${product}. They use the plan of the account that is signed in there, as prompts in the IDE do. The vendor's terms apply to them.`;
}

/** Since when the user agrees that prompts go to this IDE, as an ISO date; undefined if the user has not agreed. */
export function readConsent(folder: string, { variant }: Pick<PromptedIde, "variant">): string | undefined {
  const file = fileOf(folder, variant);
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
  return readFileSync(file, "utf8").trim();
}

/** Whether the user agreed for any IDE. */
export function hasConsented(folder: string): boolean {
  return statSync(join(folder, "consent"), { throwIfNoEntry: false }) !== undefined;
}

/** Remembers that the user agrees. Throws the file system's errors. */
export function giveConsent(folder: string, { variant }: Pick<PromptedIde, "variant">, nowMs: number): void {
  replaceFileSync(fileOf(folder, variant), `${new Date(nowMs).toISOString()}\n`);
}

/** Forgets every consent: the next prompt is refused again. Throws the file system's errors. */
export function withdrawConsent(folder: string): void {
  rmSync(join(folder, "consent"), { recursive: true, force: true });
}

export interface ConsentParts {
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
