import type { Client, Machine, Target } from "../../src/cli/clients/client.ts";
import { clients } from "../../src/cli/clients/clients.ts";
import { list } from "./markdown.ts";

/** What the page shows in place of a real account's models. */
const target: Target = {
  url: "http://127.0.0.1:42100",
  model: "swe-2",
  models: [{ id: "swe-2", name: "SWE-2", contextTokens: 200_000, maxOutputTokens: 32_000, images: false }],
  small: "swe-2",
  newest: {},
  keyCommand: "millrace keys --value",
  keyWords: ["millrace", "keys", "--value"],
  shell: "sh",
};
const place: Machine = { homeFolder: "~", env: {}, platform: "linux", ownFolder: "~/.millrace" };

/** How each client is started and set up: the word for `run` and `setup`, what `setup` writes, and what is left to do. */
export function clientList(): string {
  const named = clients.filter(({ name }) => name !== "generic");
  return list(named.map(lineOf));
}

/** What `millrace setup generic` prints. */
export function otherClients(): string {
  const notes = clients.find(({ name }) => name === "generic")?.notes(target, {}) ?? [];
  return ["```", ...notes, "```"].join("\n");
}

function lineOf({ name, title, edits, launch, notes }: Client): readonly [name: string, meaning: string] {
  const files = edits?.(target, place).map(({ file }) => `\`${file}\``) ?? [];
  const [then = ""] = notes(target, {});
  const written =
    files.length === 0 ? "`setup` prints what to enter." : `\`setup\` writes ${files.join(", ")}. ${asCode(then)}`;
  return [`${title}, \`${name}\``, launch === undefined ? `no \`run\`. ${written}` : written];
}

/** The command line at the end of a note, as code. */
function asCode(note: string): string {
  return note.replace(/: ((?:export|echo|codex) .*)$/, ": `$1`");
}
