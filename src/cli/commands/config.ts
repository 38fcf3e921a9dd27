import { existsSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { parse, stringify } from "smol-toml";
import { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { chatModel } from "../chat/answer-facts.ts";
import { setUpClients } from "../clients/installed.ts";
import { statusline } from "../clients/statusline.ts";
import { listModels } from "../clients/target.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import {
  agentSchema,
  type Config,
  configSchema,
  parseConfig,
  parseServeTable,
  readConfig,
  type SettingValue,
  settingsOf,
} from "../config/read-config.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { flag, kebab } from "../options.ts";
import { outlines } from "../outlines.ts";
import { checkGatewayOptions } from "../serve/gateway-options.ts";
import { nearestWord } from "../terminal/spell.ts";
import { printTable } from "../terminal/table.ts";
import { serveCommand } from "./serve.ts";

const keyArgument = { name: "key", summary: "such as serve.port", variadic: false };

const pathCommand = defineCommand({
  name: "path",
  summary: "Print where the configuration file is",
  options: {},
  run: (_, { out, settings }) => Promise.resolve(out.line(settings.configFile)),
});

const getCommand = defineCommand({
  name: "get",
  summary: "Show a setting, or all: its value and where that comes from",
  arguments: [{ ...keyArgument, required: false }],
  options: { json: flag("print JSON"), wide: flag("show every column") },
  run({ options, args }, context) {
    const { out } = context;
    const shown = args[0] === undefined ? serveSettings(serveCommand) : [settingOf(args[0])];
    const rows = shown.map((setting) => ({ key: setting.key, ...valueOf(setting, context) }));
    if (options.json) out.json({ data: rows });
    else if (args[0] !== undefined) for (const { value } of rows) out.line(value);
    else {
      const columns = [
        { title: "setting", whole: true },
        { title: "value", narrow: 16 },
        { title: "from", narrow: 14, keepsEnd: true, drop: 1 },
      ];
      const cells = rows.map(({ key, value, source }) => [key, value, source]);
      printTable(columns, cells, out, options.wide);
    }
    return Promise.resolve();
  },
});

const setCommand = defineCommand({
  name: "set",
  summary: "Set a setting in the file; without a value, remove it",
  arguments: [
    { ...keyArgument, required: true },
    { name: "value", summary: "as on the command line", required: false, variadic: true },
  ],
  options: {},
  async run({ args }, context) {
    const [name = "", ...values] = args;
    const { out, settings } = context;
    const { key } = settingOf(name);
    const model = key === "serve.model" ? await modelMeant(values.join(" "), context) : undefined;
    setSetting(key, model === undefined ? values : [model], context);
    const set = model === undefined ? key : `${key} = ${model}`;
    out.line(values.length === 0 ? `${key} has its default again.` : `${set} is set in ${settings.configFile}.`);
    out.note(await howToApply(key, context));
    const setUp =
      key === "serve.model" ? setUpClients(settings.folder).filter((client) => client !== statusline.name) : [];
    for (const client of setUp)
      out.note(`${client} keeps the model of its setup: \`millrace setup ${client}\` writes this one.`);
  },
});

const unsetCommand = defineCommand({
  name: "unset",
  summary: "Remove a setting from the file: its default counts again",
  arguments: [{ ...keyArgument, required: true }],
  options: {},
  run: (input, context) => setCommand.run({ ...input, args: input.args.slice(0, 1) }, context),
});

/** The model that a name means in the running gateway; undefined where none runs. Throws `unknown_model`. */
async function modelMeant(name: string, { settings, signal }: CommandContext): Promise<string | undefined> {
  const gateway = name === "" ? undefined : await findGateway(settings, signal);
  return gateway && (await chatModel(gateway, name, signal)).name;
}

/** Sets a setting of `[serve]` in the file, or removes it without words. Throws `invalid_request`. */
export function setSetting(key: string, words: readonly string[], { io, settings }: CommandContext): void {
  const { configFile: file } = settings;
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  parseConfig(text, file); // a file that is wrong already is not edited
  const value = words.length === 0 ? undefined : tomlValue(key, words);
  const edited = editToml(text, "serve", key.slice("serve.".length), value);
  checkServeTable(parseConfig(edited, file), file, io);
  replaceFileSync(file, edited);
}

/** Refuses a file with which `serve` would not start. Throws `invalid_request`. */
function checkServeTable(config: Config, file: string, io: CommandContext["io"]): void {
  const initial = Object.entries(serveCommand.options).map(([name, spec]) => [name, spec.initial] as const);
  const options = { ...Object.fromEntries(initial), ...parseServeTable(config, serveCommand.options, file) };
  checkGatewayOptions(io, options);
}

export const configCommand = defineCommand({
  ...outlines.config,
  description:
    "The configuration file sets the options of serve, under [serve]; agents have their own tables. A variable wins over the file, and an option on the command line over both.",
  options: {},
  subcommands: [getCommand, setCommand, unsetCommand, pathCommand],
  examples: [
    ["millrace config set model claude-opus", "the default model"],
    ["millrace config set retention 7d", "keep answers for a week"],
    ["millrace config set serve.port 42200", "from the next start on"],
    ["millrace config get", "every setting and where it comes from"],
  ],
  run: (input, context) => getCommand.run({ ...input, options: { json: false, wide: false } }, context),
});

type Setting = ReturnType<typeof serveSettings>[number];

function settingOf(key: string): Setting {
  const known = serveSettings(serveCommand);
  const found = known.find((setting) => setting.key === key || setting.key === `serve.${key}`);
  if (found !== undefined) return found;
  const short = (full: string) => full.replace(/^serve\./, "");
  const nearest = nearestWord(
    short(key),
    known.map((setting) => short(setting.key)),
  );
  throw new MillraceError("invalid_request", `There is no setting ${JSON.stringify(key)}.`, {
    hint: `${nearest === undefined ? "" : `Did you mean serve.${nearest}? `}\`millrace config get\` lists all. Agents are set in the file itself.`,
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

/** Words of a command line as the file's value: a number, true or false, a list where the option takes one. */
function tomlValue(key: string, words: readonly string[]): SettingValue {
  const spec = settingsOf(serveCommand.options).get(key.slice("serve.".length))?.spec;
  if (Array.isArray(spec?.initial)) return [...words];
  const word = words.join(" ");
  if (spec?.value === undefined) {
    if (word === "true" || word === "false") return word === "true";
    throw new MillraceError("invalid_request", `${key} must be true or false.`);
  }
  return /^\d+$/.test(word) && Number.isSafeInteger(Number(word)) ? Number(word) : word;
}

/** The command that makes the running gateway use a changed setting of the configuration file. */
async function howToApply(
  key: string,
  { settings, signal }: Pick<CommandContext, "settings" | "signal">,
): Promise<string> {
  const running = await findGateway(settings, signal);
  if (running === undefined) return "No gateway runs. Its next start uses the new value.";
  if (key !== "serve.model") return "The running gateway uses the new value after `millrace restart`.";
  const { serve: { model: wanted } = {} } = readConfig(settings.configFile);
  const isUsed = async () => (await listModels(running, signal)).some((model) => model.default && model.id === wanted);
  return wanted === undefined || (await isUsed())
    ? "Commands and the running gateway use it at once."
    : "The running gateway was started with another default model: `--model` or MILLRACE_MODEL wins over the file.";
}

/**
 * The text with one key of one table set, or removed if `value` is undefined; comments and all else stay. The result is parsed and
 * compared with the intended settings.
 *
 * @throws MillraceError `invalid_request` if a line of the file cannot be changed on its own.
 */
export function editToml(text: string, table: string, key: string, value: SettingValue | undefined): string {
  const wanted = plain(parse(text));
  const { [key]: _, ...others } = wanted[table] ?? {};
  wanted[table] = value === undefined ? others : { ...others, [key]: value };
  const edited = withLine(text, table, key, value).replaceAll("\n", text.includes("\r\n") ? "\r\n" : "\n");
  try {
    const got = plain(parse(edited));
    got[table] ??= {};
    if (isDeepStrictEqual(got, wanted)) return edited;
  } catch {
    // reported below
  }
  throw new MillraceError("invalid_request", `${key} of [${table}] cannot be changed by itself in this file.`, {
    hint: "Change it in an editor. `millrace config path` prints where the file is.",
  });
}

/** Objects of one kind, which can be compared. */
function plain(table: unknown): Record<string, Record<string, unknown> | undefined> {
  return JSON.parse(JSON.stringify(table)) as Record<string, Record<string, unknown> | undefined>; // a file's top holds tables
}

function withLine(text: string, table: string, key: string, value: SettingValue | undefined): string {
  const lines = text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
  const line = value === undefined ? [] : [stringify({ [key]: value }).trimEnd()];
  const header = lines.findIndex((each) => each.replace(/\s*#.*$/, "").trim() === `[${table}]`);
  if (header < 0) {
    const gap = lines.length > 0 && line.length > 0 ? [""] : [];
    return finished([...lines, ...gap, ...(line.length > 0 ? [`[${table}]`, ...line] : [])]);
  }
  const next = lines.findIndex((each, at) => at > header && /^\s*\[/.test(each));
  const end = next < 0 ? lines.length : next;
  const at = lines.findIndex((each, index) => index > header && index < end && each.split("=", 1)[0]?.trim() === key);
  // With its last setting the table goes too; not with a comment of the user.
  const rest = lines.slice(header, end).filter((each, index) => header + index !== at && each.trim() !== "");
  if (at >= 0 && line.length === 0 && rest.length === 1 && rest[0] === `[${table}]`)
    return finished(lines.toSpliced(header, end - header));
  if (at >= 0) return finished(lines.toSpliced(at, 1, ...line));
  return finished(lines.toSpliced(header + 1, 0, ...line));
}

function finished(lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** Every setting of `[serve]` in words, from the command's own options; `key` as `config set` takes it, such as `serve.port`. */
export function serveSettings({ options }: Command) {
  return [...settingsOf(options)].map(([key, { name, spec }]) => {
    const { choices, defaultText, initial, value, summary, env } = spec;
    return {
      key: `serve.${key}`,
      option: `--${kebab(name)}`,
      env,
      initial:
        defaultText ??
        (initial === false
          ? "off"
          : typeof initial === "string" || typeof initial === "number"
            ? String(initial)
            : "none"),
      unit:
        choices?.join(", ") ??
        (value === undefined
          ? "true, false"
          : value === "<time>"
            ? "a time: 500ms, 90s, 2m, 12h, 7d"
            : value.replace("...", ", or a list of them")),
      summary: choices === undefined ? summary : summary.replace(` (${choices.join(", ")})`, ""),
    };
  });
}

/** The whole file as a JSON schema, for editors. */
export function configJsonSchema({ options }: Command): unknown {
  const serve = [...settingsOf(options)].map(
    ([
      key,
      {
        spec: { choices, value, initial, summary },
      },
    ]) => {
      const one = choices === undefined ? z.union([z.string(), z.number()]) : z.enum(choices);
      const type =
        value === undefined ? z.boolean() : Array.isArray(initial) ? z.union([z.string(), z.array(z.string())]) : one;
      return [key, type.optional().describe(summary)] as const;
    },
  );
  const whole = z.strictObject({
    ...configSchema.shape,
    agents: z.array(agentSchema).optional(),
    serve: z.strictObject(Object.fromEntries(serve)).optional(),
  });
  return { title: "Millrace config.toml", ...z.toJSONSchema(whole, { io: "input" }) };
}
