import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client, Machine, Target } from "../../src/cli/clients/client.ts";
import { clients } from "../../src/cli/clients/clients.ts";
import { applyFileEdit } from "../../src/cli/clients/file-edit.ts";
import { openCodePlugin } from "../../src/cli/package-files.ts";

/** What the guides show in place of a real account's models. */
const target: Target = {
  url: "http://127.0.0.1:42100",
  model: "swe-2",
  models: [
    { id: "swe-2", name: "SWE-2", contextTokens: 200_000, maxOutputTokens: 32_000, images: false },
    { id: "claude-opus-4.5", name: "Claude Opus 4.5", contextTokens: 200_000, maxOutputTokens: 64_000, images: true },
  ],
  keyCommand: "millrace key --value",
};
const place: Machine = { homeFolder: "~", env: {}, platform: "linux", ownFolder: "~/.millrace" };

/** `docs/guides/<client>.md` for each client of `millrace setup`, from what `setup` writes and `npm run test:clients` saw. */
export function guidePages(root: string): Readonly<Record<string, string>> {
  const tried = triedClients(root);
  return Object.fromEntries(
    clients.map((client) => [
      `docs/guides/${client.name}.md`,
      client.name === "generic" ? genericGuide(client) : guide(root, client, tried),
    ]),
  );
}

function guide(root: string, client: Client, tried: Tried): string {
  const { name, title, edits, launch } = client;
  return page([
    ...head(title),
    `1. [Start the gateway](../../README.md#quick-start-with-your-ide), and leave it running: \`millrace serve\`.`,
    edits === undefined
      ? "2. Print what to enter. It changes no file."
      : "2. Set the client up. Millrace shows the changes and asks before it makes them.",
    "",
    "   ```sh",
    `   millrace setup ${name}`,
    "   ```",
    "",
    ...picture(root, client),
    edits === undefined ? "3. Enter what it printed:" : "3. Read the notes that it prints after the change:",
    "",
    ...code(client.notes(target)),
    "",
    `4. Ask ${title} something. \`millrace tail --list\` shows the turn that reached the gateway.`,
    ...(edits === undefined
      ? []
      : [
          "",
          "## What it writes",
          "",
          ...written(edits(target, place)),
          "",
          "The names and limits of the models come from your account. The key is not in any of these files.",
        ]),
    ...(launch === undefined
      ? []
      : [
          "",
          "## Once, without a change",
          "",
          `This starts ${title} on the gateway and changes no file:`,
          "",
          "```sh",
          `millrace run ${name}`,
          "```",
        ]),
    ...(edits === undefined ? [] : ["", "## Undo", "", "```sh", `millrace setup ${name} --undo`, "```"]),
    "",
    "## What was tried",
    "",
    ...triedLines(title, tried),
    "",
    ...foot,
  ]);
}

function genericGuide({ notes }: Client): string {
  return page([
    ...head("Any other client"),
    "Any program that speaks OpenAI's or Anthropic's API can use the gateway. It needs a base URL, a key and the name of a model.",
    "",
    "```sh",
    "millrace setup generic",
    "```",
    "",
    "It prints what to enter, with the models of your account:",
    "",
    ...code(notes(target)).map((line) => line.trimStart()),
    "",
    "Most programs that use OpenAI's SDK also read two variables:",
    "",
    "```sh",
    `export OPENAI_BASE_URL=${target.url}/v1`,
    'export OPENAI_API_KEY="$(millrace key --value)"',
    "```",
    "",
    "[The HTTP API](../http-api.md) lists what each route takes. A program that does not run on this machine cannot reach the gateway unless you",
    "[allow it](../configuration.md#beyond-this-machine).",
    "",
    ...foot,
  ]);
}

function head(title: string): readonly string[] {
  return [
    `# ${title}`,
    "",
    "<!-- Written by `npm run docs` from the client's description in the sources. Change that, not this page. -->",
    "",
  ];
}

const foot = [
  "## When it does not work",
  "",
  "Type `millrace doctor`: it checks the IDE, the account and the gateway. Then search [Troubleshooting](../troubleshooting.md) for the message that the",
  "client shows. [All clients](../clients.md) has more about each, and about what it does after a failure.",
];

function page(lines: readonly string[]): string {
  return `${lines.join("\n")}\n`;
}

function picture(root: string, { name, title }: Client): readonly string[] {
  const file = `docs/images/setup-${name}.svg`;
  return existsSync(join(root, file))
    ? [`   ![A terminal: what millrace setup ${name} writes for ${title}](../images/setup-${name}.svg)`, ""]
    : [];
}

function code(lines: readonly string[]): readonly string[] {
  return ["   ```", ...lines.map((line) => `   ${line}`), "   ```"];
}

function written(edits: ReturnType<NonNullable<Client["edits"]>>): readonly string[] {
  return edits.flatMap((edit, index) => [
    ...(index === 0 ? [] : [""]),
    `\`${edit.file}\`:`,
    "",
    "```",
    applyFileEdit("", edit).trimEnd().replaceAll(openCodePlugin, "file:///home/me/millrace/dist/node/opencode.js"),
    "```",
  ]);
}

/** Rows of the first table of `docs/clients.md`, by the client's name; and its titles. */
type Tried = { readonly titles: string; readonly rows: readonly string[] };

function triedClients(root: string): Tried {
  const text = readFileSync(join(root, "docs/clients.md"), "utf8");
  const lines = text.slice(text.indexOf("<!-- written by test:clients: clients -->")).split("\n");
  const start = lines.findIndex((line) => line.startsWith("| client |"));
  const rows = lines.slice(start + 2);
  return { titles: lines[start] ?? "", rows: rows.slice(0, rows.indexOf("")) };
}

function triedLines(title: string, { titles, rows }: Tried): readonly string[] {
  const own = rows.filter((row) => new RegExp(`^\\| ${title}(?: CLI)?(?:,[^|]*)? \\|`).test(row));
  if (own.length === 0) return [`No test drives ${title}. \`setup\` writes what its documentation says.`];
  return [
    "`npm run test:clients` drives it against the stand-in IDE, on Linux:",
    "",
    titles,
    titles.replaceAll(/[^|]+/g, " --- "),
    ...own,
    "",
    "[All clients](../clients.md) explains the columns.",
  ];
}
