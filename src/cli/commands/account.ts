import type { KeyForm } from "../../ide/account/api-key.ts";
import { type AccountEntry, readAccounts } from "../account/read-accounts.ts";
import { defineCommand } from "../command.ts";
import { composeIdeFinder } from "../compose/compose-ide.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { ownGatewayOptions } from "../serve/gateway-options.ts";
import { overridesOf } from "../serve/ide-options.ts";
import { exitCodes } from "../terminal/exit-codes.ts";

const { ide, home, pid, endpoint, tokenFile } = ownGatewayOptions;

export const accountCommand = defineCommand({
  ...outlines.account,
  description:
    "Reads the account of every installed editor and agent program, without starting them. Millrace itself has no sign-in: sign in inside the editor, or with `devin auth login`. Keys are never shown. Exits with 0 if an account is signed in, with 1 if none is, with 69 if no program was found.",
  options: { json: flag("print JSON"), ide, home, pid, endpoint, tokenFile },
  examples: [
    ["millrace account", "which accounts are signed in"],
    ["millrace account --json", "for scripts"],
  ],
  async run({ options }, { io, out, signal }) {
    const finder = composeIdeFinder(io, overridesOf(io, options));
    try {
      const accounts = await readAccounts(finder, signal);
      if (options.json) out.json({ data: accounts });
      else {
        const several = accounts.filter(({ pid }) => pid !== null).length > 1;
        for (const account of accounts) for (const line of linesOf(account, several)) out.prose(line);
        if (accounts.length === 0) out.line("No editor and no agent program was found.");
        out.note("Millrace itself has no sign-in. It uses the accounts above.");
      }
      if (accounts.length === 0) return exitCodes.unavailable;
      return accounts.some((account) => account.signed_in) ? exitCodes.ok : exitCodes.notAllowed;
    } finally {
      finder.close();
    }
  },
});

const kinds: Readonly<Record<KeyForm, string>> = {
  uuid: "a key of the oldest form (UUID)",
  "sk-ws": "a Windsurf key (sk-ws-…)",
  "devin-session": "a session token of Devin",
  cog: "a Devin API key (cog_…)",
  unknown: "a key of a form that Millrace does not know",
};

/** `several`: more than one editor runs, so each line names its process. */
function linesOf(account: AccountEntry, several: boolean): readonly string[] {
  const { product, what, signed_in: signedIn, signed_in_by: by, key_form: form, key_refused: refused } = account;
  const who = signedIn
    ? [
        account.name ?? "name not known",
        `plan ${account.plan ?? "not known"}`,
        `server ${account.server ?? "not known"}`,
        form === null ? "no key on this machine" : kinds[form],
        ...(what === "agent program" ? [by === "own" ? "with its own credentials" : "with the editor's key"] : []),
      ].join(", ")
    : "no account is signed in";
  const kind = account.stand_in ? `${what} of a stand-in` : what;
  const process = several && account.pid !== null ? ` (pid ${account.pid})` : "";
  return [
    `${product}, ${kind}${process}: ${who}`,
    ...(refused === null ? [] : [`  refused: ${refused}`]),
    ...(account.todo === null ? [] : [`  to do: ${account.todo}`]),
  ];
}
