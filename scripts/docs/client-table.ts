import type { Client, Machine, SetupKey, Target } from "../../src/cli/clients/client.ts";
import { clients } from "../../src/cli/clients/clients.ts";
import { list } from "./markdown.ts";

/** What the page shows in place of a real account's models. */
const target: Target = {
  url: "http://127.0.0.1:42100",
  model: "swe-2",
  models: [{ id: "swe-2", name: "SWE-2", contextTokens: 200_000, maxOutputTokens: 32_000, images: false }],
  small: "swe-2",
  newest: {},
  shell: "sh",
};
/** The key of a client. */
function keyOf(name: string): SetupKey {
  const words = ["millrace", "keys", "--value", "--for", name];
  const command = words.join(" ");
  return { value: "…", variable: "…", words, command, typed: command };
}
const place: Machine = { homeFolder: "~", env: {}, platform: "linux", ownFolder: "~/.millrace" };

/** How each client is started and set up: the word for `run` and `setup`, what `setup` writes, and what is left to do. */
export function clientList(): string {
  const named = clients.filter(({ name }) => name !== "generic" && name !== "statusline"); // the meter is no client of the models
  return list(named.map(lineOf));
}

/** What `millrace setup generic` prints. */
export function otherClients(): string {
  const notes = clients.find(({ name }) => name === "generic")?.notes(target, keyOf("generic"), {}) ?? [];
  return ["```", ...notes, "```"].join("\n");
}

function lineOf({ name, title, edits, launch, notes, isUntried }: Client): readonly [name: string, meaning: string] {
  const files = edits?.(target, keyOf(name), place).map(({ file }) => `\`${file}\``) ?? [];
  const [then = ""] = notes(target, keyOf(name), {});
  const written = files.length === 0 ? "`setup` prints what to enter." : `${files.join(", ")}. ${asCode(then)}`;
  const tried = isUntried ? " No test of ours has driven it." : "";
  return [`${title}, \`${name}\``, `${launch === undefined ? "no `run`. " : ""}${written}${tried}`];
}

/** The command line at the end of a note, as code. */
function asCode(note: string): string {
  return note.replace(/: ((?:codex|droid|millrace) .*)$/, ": `$1`");
}
