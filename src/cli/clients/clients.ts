import { MillraceError } from "../../base/errors.ts";
import { nearestWord } from "../terminal/spell.ts";
import { codex, copilot, droid, geminiCli, goose, pi, qwenCode } from "./agents.ts";
import { claudeCode } from "./claude-code.ts";
import type { Client } from "./client.ts";
import { aider, cline, continueDev, crush, generic, zed } from "./editors.ts";
import { kilo, openCode } from "./opencode.ts";
import { statusline } from "./statusline.ts";

/** Every client that `millrace setup` knows. */
export const clients: readonly Client[] = [
  openCode,
  codex,
  claudeCode,
  geminiCli,
  copilot,
  qwenCode,
  pi,
  kilo,
  droid,
  goose,
  aider,
  continueDev,
  cline,
  zed,
  crush,
  statusline,
  generic,
];

/** The client of that name among those that can be meant. Throws `invalid_request` that lists them. */
export function findClient(name: string, meant: readonly Client[] = clients): Client {
  const typed = name.toLowerCase().replaceAll(/[ _]/g, "-");
  const namesOf = ({ name: own, aliases = [], programs }: Client) => [own, ...aliases, ...programs];
  const found = clients.find((client) => namesOf(client).includes(typed));
  if (found !== undefined) return found;
  if (/^cursor(-|$)/.test(typed))
    throw new MillraceError(
      "invalid_request",
      "Cursor cannot use Millrace: Cursor's own servers call the models, and they cannot reach 127.0.0.1 of your machine.",
      { hint: "Use another client, also in Cursor's terminal: `millrace run codex`, or `millrace run claude-code`." },
    );
  const near = nearestWord(typed, meant.flatMap(namesOf));
  const suggested = near === undefined ? undefined : meant.find((client) => namesOf(client).includes(near));
  const names = meant.map((client) => client.name).join(", ");
  throw new MillraceError("invalid_request", `There is no client named ${name} here.`, {
    hint: suggested === undefined ? `One of: ${names}.` : `Did you mean ${suggested.name}? One of: ${names}.`,
  });
}
