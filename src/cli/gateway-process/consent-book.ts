import type { ConsentBook } from "../../gateway/options.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import { promptedHere } from "./ask-consent.ts";
import { type ConsentParts, giveConsent, readConsent, spellConsent } from "./consent.ts";

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
        ide: variant,
        product,
        text: spellConsent(product),
        acceptedAt: readConsent(folder, { variant }) ?? null,
      }));
    },
    async give(name, signal) {
      const ide = (await here(signal)).find(({ variant }) => variant === name);
      if (ide !== undefined && readConsent(folder, ide) === undefined) giveConsent(folder, ide, nowMs());
      return ide !== undefined;
    },
  };
}
