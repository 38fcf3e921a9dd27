import { existsSync, readFileSync } from "node:fs";
import { MillraceError } from "../../base/errors.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { editDistance } from "../../models/nearest.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import type { SettingValue } from "../config/config-schema.ts";
import { editToml } from "../config/edit-toml.ts";
import { parseConfig, readConfig } from "../config/read-config.ts";
import { parseServeTable, settingKeys } from "../config/read-serve-table.ts";
import { configJsonSchema, type Setting, serveSettings } from "../config/settings-list.ts";
import { howToApply } from "../gateway-process/how-to-apply.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { printTable } from "../terminal/table.ts";
import { serveCommand } from "./serve.ts";

const keyArgument = { name: "key", summary: "such as serve.port", variadic: false };

const pathCommand = defineCommand({
  name: "path",
  summary: "Print where the configuration file is",
  group: "Set up",
  options: {},
  examples: [],
  run: (_, { out, settings }) => Promise.resolve(out.line(settings.configFile)),
});

const checkCommand = defineCommand({
  name: "check",
  summary: "Check the configuration file",
  group: "Set up",
  options: {},
  examples: [],
  run(_, { out, settings: { configFile: file } }) {
    const config = readConfig(file);
    parseServeTable(config, serveCommand.options, file);
    out.line(existsSync(file) ? `${file} has no errors.` : `There is no ${file}, so the defaults apply.`);
    return Promise.resolve();
  },
});

const schemaCommand = defineCommand({
  name: "schema",
  summary: "Print the file's JSON schema, for an editor",
  group: "Set up",
  options: {},
  examples: [],
  run: (_, { out }) => Promise.resolve(out.write(`${JSON.stringify(configJsonSchema(serveCommand), null, 2)}\n`)),
});

const getCommand = defineCommand({
  name: "get",
  summary: "Show a setting, or all: its value and where that comes from",
  group: "Set up",
  arguments: [{ ...keyArgument, required: false }],
  options: { json: flag("print JSON"), wide: flag("show every column") },
  examples: [],
  run({ options, args }, context) {
    const { out } = context;
    const shown = args[0] === undefined ? serveSettings(serveCommand) : [settingOf(args[0])];
    const rows = shown.map((setting) => ({ key: setting.key, ...valueOf(setting, context) }));
    if (options.json) out.json({ data: rows });
    else if (args[0] !== undefined) for (const { value } of rows) out.line(value);
    else
      printTable(
        [{ title: "setting" }, { title: "value" }, { title: "from", drop: 1 }],
        rows.map(({ key, value, source }) => [key, value, source]),
        out,
        options.wide,
      );
    return Promise.resolve();
  },
});

const setCommand = defineCommand({
  name: "set",
  summary: "Set a setting in the file; without a value, remove it",
  group: "Set up",
  arguments: [
    { ...keyArgument, required: true },
    { name: "value", summary: "as on the command line", required: false, variadic: true },
  ],
  options: {},
  examples: [],
  async run({ args }, context) {
    const {
      out,
      settings: { configFile: file },
    } = context;
    const [name = "", ...values] = args;
    const { key } = settingOf(name);
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    parseConfig(text, file); // a file that is wrong already is not edited
    const value = values.length === 0 ? undefined : tomlValue(key, values);
    const edited = editToml(text, "serve", key.slice("serve.".length), value);
    parseServeTable(parseConfig(edited, file), serveCommand.options, file);
    replaceFileSync(file, edited);
    out.line(value === undefined ? `${key} has its default again.` : `${key} is set in ${file}.`);
    out.note(await howToApply(optionOf(key), context));
  },
});

export const configCommand = defineCommand({
  ...outlines.config,
  description:
    "The configuration file sets the options of serve, under [serve]; agents have their own tables. A variable wins over the file, and an option on the command line over both.",
  options: {},
  subcommands: [getCommand, setCommand, checkCommand, pathCommand, schemaCommand],
  examples: [
    ["millrace config set serve.port 42200", "from the next start on"],
    ["millrace config get", "every setting and where it comes from"],
    ["millrace config check", "is the file right?"],
  ],
  run: (input, context) => getCommand.run({ ...input, options: { json: false, wide: false } }, context),
});

function settingOf(key: string): Setting {
  const known = serveSettings(serveCommand);
  const found = known.find((setting) => setting.key === key || setting.key === `serve.${key}`);
  if (found !== undefined) return found;
  const nearest = known.toSorted((a, b) => editDistance(key, a.key) - editDistance(key, b.key))[0];
  throw new MillraceError("invalid_request", `There is no setting ${JSON.stringify(key)}.`, {
    hint: `Did you mean ${nearest?.key ?? "serve.port"}? \`millrace config get\` lists all. Agents are set in the file itself.`,
  });
}

function valueOf({ key, env, initial }: Setting, { io, settings }: CommandContext) {
  const fromEnv = env === undefined ? undefined : io.env[env];
  if (env !== undefined && fromEnv) return { value: withoutPassword(fromEnv), source: env };
  const fromFile = readConfig(settings.configFile).serve?.[key.slice("serve.".length)];
  if (fromFile !== undefined)
    return { value: withoutPassword([fromFile].flat().join(" ")), source: settings.configFile };
  return { value: initial, source: "default" };
}

function withoutPassword(value: string): string {
  return value.replace(/(:\/\/[^/@\s]*:)[^/@\s]*@/, "$1***@");
}

/** `serve.max_turns` is the option `maxTurns`. */
function optionOf(key: string): string {
  return settingKeys(serveCommand.options).get(key.slice("serve.".length)) ?? "";
}

/** Words of a command line as the file's value: a number, true or false, a list where the option takes one. */
function tomlValue(key: string, words: readonly string[]): SettingValue {
  const spec = serveCommand.options[optionOf(key)];
  if (Array.isArray(spec?.initial)) return [...words];
  const word = words.join(" ");
  if (spec?.value === undefined) {
    if (word === "true" || word === "false") return word === "true";
    throw new MillraceError("invalid_request", `${key} must be true or false.`);
  }
  return /^\d+$/.test(word) && Number.isSafeInteger(Number(word)) ? Number(word) : word;
}
