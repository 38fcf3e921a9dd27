import { MillraceError } from "../../base/errors.ts";
import { defineCommand } from "../command.ts";
import { discoverHere, promptedHere } from "../gateway-process/ask-consent.ts";
import { giveConsent, readConsent, spellConsent, withdrawConsent } from "../gateway-process/consent.ts";
import { explainedBy, flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { gatewayOptions } from "../serve/gateway-options.ts";
import { choosePrompted } from "../serve/servers.ts";

const { ide, home, pid, endpoint, tokenFile } = gatewayOptions;

/** `millrace accept`: without it, no prompt goes to an IDE that the user did not name himself. */
export const acceptCommand = defineCommand({
  ...outlines.accept,
  description:
    "Before the first prompt, Millrace needs your consent, once for each IDE: prompts use the plan of the account that is signed in there. This command gives consent for the IDE that runs or is installed here. A running gateway uses it from the next request.",
  options: {
    undo: flag("withdraw your consent: the next prompt is refused"),
    json: flag("print JSON"),
    ...explainedBy("serve", { ide, home, pid, endpoint, tokenFile }),
  },
  examples: [
    ["millrace accept", "once, before the first prompt"],
    ["millrace serve --accept", "the same, in a script"],
    ["millrace accept --undo", "withdraw your consent"],
  ],
  async run({ options: { undo, json, ...options } }, context) {
    const { io, out, settings } = context;
    if (undo) {
      withdrawConsent(settings.folder);
      if (json) out.json({ object: "list", data: [] });
      else out.line("Millrace sends no more prompts to an IDE until you type `millrace accept`.");
      return;
    }
    const result = await discoverHere(options, context);
    const found = promptedHere(result);
    if (found.length === 0) needsNone(choosePrompted(result).product);
    const data = found.map(({ variant, product }) => {
      if (readConsent(settings.folder, { variant }) === undefined)
        giveConsent(settings.folder, { variant }, io.clock.now());
      return { ide: variant, product, accepted_at: readConsent(settings.folder, { variant }) };
    });
    if (json) return out.json({ object: "list", data });
    for (const { product } of data) out.line(`You agree: ${spellConsent(product)}`);
    out.line("`millrace accept --undo` takes it back.");
  },
});

/** Throws the error for a product that is here and needs no consent. */
function needsNone(product: string): never {
  throw new MillraceError("invalid_request", `${product} needs no consent.`, {
    hint: "Only an IDE with an account's plan needs it. A stand-in, and a server that you named by its address, do not.",
  });
}
