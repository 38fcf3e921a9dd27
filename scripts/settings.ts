import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import { configJsonSchema, serveSettings } from "../src/cli/commands/config.ts";
import { serveCommand } from "../src/cli/commands/serve.ts";
import { agentSchema } from "../src/cli/config/read-config.ts";

/** Settings that only a variable sets: name, default, unit, meaning. The rest of docs/settings.md comes from the options. */
const environmentOnly: readonly (readonly [name: string, initial: string, unit: string, summary: string])[] = [
  ["MILLRACE_HOME", "~/.millrace", "a folder", "where Millrace keeps its own files"],
  ["MILLRACE_KEY_FILE", "key in that folder", "a file", "another file for the gateway's key"],
  ["MILLRACE_LOG_KEY_FILE", "log-key in that folder", "a file", "another file for the key that seals the log"],
  ["MILLRACE_IDE_HOMES", "your home", "folders", "more home folders to look for an IDE in"],
  ["MILLRACE_MODEL", "the account's default", "a model", "the model that chat and setup begin with"],
  ["MILLRACE_NO_RECORD", "off", "1, true, yes, on", "chat keeps no record of its question"],
  ["MILLRACE_ACCEPT", "off", "true, false", "agree, once, that prompts go to the IDE: as `serve --accept`"],
];

/** The generated files, by their place in the repository. `npm run generate` writes them. */
export function settingsFiles(): Readonly<Record<string, string>> {
  return {
    "docs/settings.md": page(),
    "docs/config.schema.json": `${JSON.stringify(configJsonSchema(serveCommand), null, 2)}\n`,
  };
}

function page(): string {
  const serve = serveSettings(serveCommand).map(({ key, option, env, unit, initial, summary }) =>
    row([`\`${key}\``, `\`${option}\``, env === undefined ? "" : `\`${env}\``, initial, unit, summary]),
  );
  const variables = environmentOnly.map(([name, initial, unit, summary]) =>
    row([`\`${name}\``, initial, unit, summary]),
  );
  return `# Settings

<!-- Generated from the options of the commands: npm run generate -->

Every setting of the gateway. An option on the command line wins over its variable, the variable over \`config.toml\`, the file over the default.
\`millrace config get\` shows what holds and why, \`millrace config set serve.port 42200\` changes the file, \`millrace config check\` checks it. An unknown key
is an error that names the nearest known one. [configuration.md](configuration.md) explains the settings; [config.schema.json](config.schema.json) is the
file's JSON schema for editors, which \`millrace config schema\` prints too.

## serve

The keys stand under \`[serve]\`. Other commands that start a gateway take them too.

| key | option | variable | default | unit or values | what it sets |
|---|---|---|---|---|---|
${serve.join("\n")}

## agents

The keys stand under \`[[agents]]\`, once for each agent of your own.

${tableOf(agentSchema, "agents")}

## Variables without an option

| variable | default | unit or values | what it sets |
|---|---|---|---|
${variables.join("\n")}
`;
}

function tableOf({ shape }: { readonly shape: Readonly<Record<string, z.ZodType>> }, table: string): string {
  const rows = Object.entries(shape).map(([key, type]) => row([`\`${table}.${key}\``, type.description ?? ""]));
  return `| key | what it sets |\n|---|---|\n${rows.join("\n")}`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("<", "&lt;")).join(" | ")} |`;
}

if (process.argv[1] === import.meta.filename)
  for (const [file, text] of Object.entries(settingsFiles()))
    writeFileSync(join(import.meta.dirname, "..", file), text);
