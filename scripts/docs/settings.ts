import { configJsonSchema, serveSettings } from "../../src/cli/commands/config.ts";
import { serveCommand } from "../../src/cli/commands/serve.ts";
import { list } from "./markdown.ts";

/** Settings that only a variable sets: name, default, meaning. The rest of docs/reference.md comes from the options. */
const environmentOnly: readonly (readonly [name: string, initial: string, summary: string])[] = [
  ["MILLRACE_HOME", "~/.millrace", "where Millrace keeps its own files, a whole path"],
  ["MILLRACE_KEY_FILE", "key in that folder", "another file for the gateway's key"],
  ["MILLRACE_LOG_KEY_FILE", "log-key in that folder", "another file for the key that seals the log"],
  ["MILLRACE_IDE_HOMES", "your home", "more home folders to look for an IDE in"],
  ["MILLRACE_ACCEPT", "false, or true", "agree, once, that prompts go to the IDE: as `serve --accept`"],
];

/** The settings of `serve`, and the variables without an option, as lists: names, in brackets the default or what may stand there, and the meaning. */
export function settingsLists(): Readonly<Record<"settings" | "variables", string>> {
  const serve = serveSettings(serveCommand).map(({ key, env, unit, initial, summary }) => {
    const names = [key, ...(env === undefined ? [] : [env])].map((name) => `\`${name}\``).join(", ");
    return [`${names} (${valueOf(initial, unit)})`, summary] as const;
  });
  const variables = environmentOnly.map(([name, initial, summary]) => [`\`${name}\` (${initial})`, summary] as const);
  return { settings: list(serve), variables: list(variables) };
}

/** The default; where there is none, the form of a value; where there are some words to choose from, those. */
function valueOf(initial: string, unit: string): string {
  if (initial === "none") return unit.replaceAll(/<[^>]+>/g, "`$&`");
  if (unit.includes("<") || unit.startsWith("a time")) return initial;
  const words = unit.split(", ");
  const others = words.filter((word) => word !== initial).join(", ");
  return words.includes(initial) ? `${initial}, or ${others}` : `${initial}; one of ${others}`;
}

/** `docs/config.schema.json`. */
export function configSchema(): string {
  return `${JSON.stringify(configJsonSchema(serveCommand), null, 2)}\n`;
}
