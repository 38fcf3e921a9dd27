import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import { serveCommand } from "../src/cli/commands/serve.ts";
import { agentSchema } from "../src/cli/config/read-config.ts";
import { configJsonSchema, environmentOnly, serveSettings } from "../src/cli/config/settings-list.ts";

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
