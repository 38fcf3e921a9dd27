import { MillraceError } from "../../base/errors.ts";
import { aider } from "./aider.ts";
import { claudeCode } from "./claude-code.ts";
import type { Client } from "./client.ts";
import { cline } from "./cline.ts";
import { codex } from "./codex.ts";
import { continueDev } from "./continue.ts";
import { copilot } from "./copilot.ts";
import { crush } from "./crush.ts";
import { droid } from "./droid.ts";
import { generic } from "./generic.ts";
import { kilo } from "./kilo.ts";
import { openCode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { qwenCode } from "./qwen-code.ts";
import { zed } from "./zed.ts";

/** Every client that `millrace setup` knows. */
export const clients: readonly Client[] = [
  openCode,
  codex,
  claudeCode,
  copilot,
  qwenCode,
  pi,
  kilo,
  droid,
  aider,
  continueDev,
  cline,
  zed,
  crush,
  generic,
];

/** The client of that name among those that can be meant. Throws `invalid_request` that lists them. */
export function findClient(name: string | undefined, meant: readonly Client[] = clients): Client {
  const found = clients.find((client) => client.name === name);
  if (found !== undefined) return found;
  const names = meant.map((client) => client.name).join(", ");
  throw new MillraceError(
    "invalid_request",
    name === undefined ? "The name of a client is missing." : `There is no client named ${name} here.`,
    {
      hint: `One of: ${names}.`,
    },
  );
}
