import { MillraceError } from "../../base/errors.ts";
import { aider } from "./aider.ts";
import { claudeCode } from "./claude-code.ts";
import type { Client } from "./client.ts";
import { cline } from "./cline.ts";
import { codex } from "./codex.ts";
import { continueDev } from "./continue.ts";
import { crush } from "./crush.ts";
import { openCode } from "./opencode.ts";
import { zed } from "./zed.ts";

/** Every client that `millrace setup` knows. */
export const clients: readonly Client[] = [openCode, codex, claudeCode, aider, continueDev, cline, zed, crush];

/** The client of that name. Throws `invalid_request` that lists them all. */
export function findClient(name: string | undefined): Client {
  const found = clients.find((client) => client.name === name);
  if (found !== undefined) return found;
  const names = clients.map((client) => client.name).join(", ");
  throw new MillraceError(
    "invalid_request",
    name === undefined ? "Which client?" : `There is no client named ${name} here.`,
    {
      hint: `One of: ${names}.`,
    },
  );
}
