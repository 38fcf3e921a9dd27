import { applyFileEdit } from "../../src/cli/clients/applied.ts";
import type { Client, Machine, Target } from "../../src/cli/clients/client.ts";
import { clients } from "../../src/cli/clients/clients.ts";
import { openCodePlugin } from "../../src/cli/package-files.ts";

/** What the page shows in place of a real account's models. */
const target: Target = {
  url: "http://127.0.0.1:42100",
  model: "swe-2",
  models: [{ id: "swe-2", name: "SWE-2", contextTokens: 200_000, maxOutputTokens: 32_000, images: false }],
  small: "swe-2",
  keyCommand: "millrace keys --value",
  keyWords: ["millrace", "keys", "--value"],
  shell: "sh",
};
const place: Machine = { homeFolder: "~", env: {}, platform: "linux", ownFolder: "~/.millrace" };

/** `docs/guides.md`: how each client of `millrace setup` is started and set up, and what `setup` writes. */
export function guidePage(): string {
  return `${[
    "# Guides",
    "",
    "<!-- Written by `npm run generate` from each client's description in the sources. Change that, not this page. -->",
    "",
    "- `millrace run CLIENT` starts a client on the gateway once. It starts a gateway if none runs, and changes no file.",
    "- `millrace setup CLIENT` shows the lasting changes and asks before it makes them. `millrace setup CLIENT --undo` restores the earlier settings. Without an IDE it names the model `claude-sonnet`; type it again once the IDE runs for the whole list.",
    "  Then [start a gateway](../README.md#use-it-with-your-ide) and leave it running.",
    "- The names and limits of the models come from your account; the examples show one model. No file holds the key.",
    "- [clients.md](clients.md) says what was tried with each client. `millrace tail --list` shows the turns that reached the gateway.",
    ...clients.flatMap(section),
  ].join("\n")}\n`;
}

function section({ name, title, edits, launch, notes }: Client): readonly string[] {
  return [
    "",
    `## ${name === "generic" ? "Any other client" : title}`,
    "",
    "```sh",
    ...(launch === undefined ? [] : [`millrace run ${name}`]),
    `millrace setup ${name}`,
    "```",
    "",
    edits === undefined ? "`setup` changes no file. It prints what to enter:" : "After `setup`:",
    "",
    ...code(notes(target)),
    ...(edits === undefined ? [] : written(edits(target, place))),
  ];
}

function written(edits: ReturnType<NonNullable<Client["edits"]>>): readonly string[] {
  return edits.flatMap((edit) => [
    "",
    `It writes \`${edit.file}\`:`,
    "",
    ...code([
      applyFileEdit("", edit).trimEnd().replaceAll(openCodePlugin, "file:///home/me/millrace/dist/node/opencode.js"),
    ]),
  ]);
}

function code(lines: readonly string[]): readonly string[] {
  return ["```", ...lines, "```"];
}
