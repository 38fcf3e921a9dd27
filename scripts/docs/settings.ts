import { configJsonSchema, serveSettings } from "../../src/cli/commands/config.ts";
import { serveCommand } from "../../src/cli/commands/serve.ts";
import { table } from "./markdown.ts";

/** Settings that only a variable sets: name, default, unit, meaning. The rest of docs/reference.md comes from the options. */
const environmentOnly: readonly (readonly [name: string, initial: string, unit: string, summary: string])[] = [
  ["MILLRACE_HOME", "~/.millrace", "a folder (a whole path)", "where Millrace keeps its own files"],
  ["MILLRACE_KEY_FILE", "key in that folder", "a file", "another file for the gateway's key"],
  ["MILLRACE_LOG_KEY_FILE", "log-key in that folder", "a file", "another file for the key that seals the log"],
  ["MILLRACE_IDE_HOMES", "your home", "folders", "more home folders to look for an IDE in"],
  ["MILLRACE_NO_RECORD", "off", "1, true, yes, on", "chat keeps no record of its question"],
  ["MILLRACE_ACCEPT", "off", "true, false", "agree, once, that prompts go to the IDE: as `serve --accept`"],
];

/** The settings of `serve`, and the variables without an option, as tables. */
export function settingsTables(): Readonly<Record<"settings" | "variables", string>> {
  const serve = serveSettings(serveCommand).map(({ key, env, unit, initial, summary }) => [
    `\`${key}\``,
    env === undefined ? "" : `\`${env}\``,
    initial,
    unit.replace(/^a time: .*/, "a time"), // the page says once how a time is written
    summary,
  ]);
  const variables = environmentOnly.map(([name, ...cells]) => [`\`${name}\``, ...cells]);
  return {
    settings: table(["key", "variable", "default", "unit or values", "what it sets"], serve),
    variables: table(["variable", "default", "unit or values", "what it sets"], variables),
  };
}

/** `docs/config.schema.json`. */
export function configSchema(): string {
  return `${JSON.stringify(configJsonSchema(serveCommand), null, 2)}\n`;
}
