import { readFileSync } from "node:fs";
import { parse, TomlError } from "smol-toml";
import { z } from "zod";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { barrierTo, lookAt } from "../../base/node/file-access.ts";
import type { Command } from "../command.ts";
import { type OptionSpec, splitCommand } from "../options.ts";
import { nearestWord } from "../terminal/spell.ts";

/** Names that would read as something else in `<agent>/<model>` or in an id. */
const reservedNames: ReadonlySet<string> = new Set(["acp", "devin", "devin-next", "millrace", "windsurf"]);

const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "is not the name of a variable");
const command = z
  .union([z.string(), z.array(z.string())], 'must be a command such as "opencode acp", or a list of its words')
  .transform((value, context) => {
    const words = typeof value === "string" ? splitCommand(value) : value;
    if (words?.[0] !== undefined && words[0] !== "") return words;
    context.addIssue({ code: "custom", message: words === undefined ? "has a quote that is not closed" : "is empty" });
    return z.NEVER;
  });

const agent = z.strictObject({
  name: z
    .string("needs a name such as opencode")
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "must be 1 to 32 small letters, digits and hyphens")
    .refine((name) => !reservedNames.has(name), "is a name that Millrace uses itself; choose another")
    .describe("the agent's name: its models are called <name>/<model>"),
  command: command.describe("the program and its arguments; no shell reads it"),
  env: z.array(variableName).default([]).describe("variables to pass on, beside the usual ones"),
  set: z.record(variableName, z.string()).default({}).describe("variables to set"),
  allow_actions: z
    .boolean()
    .optional()
    .describe(
      "let the agent act on a model's word, with its owner's permissions; without it, an agent that could act is refused",
    ),
});

const settingValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);
export type SettingValue = z.output<typeof settingValue>;

/** `~/.millrace/config.toml`. Unknown keys are errors. Documented in docs/reference.md. */
export const configSchema = z.strictObject({
  /** Checked against the options of `serve`, by `parseServeTable`. */
  serve: z.record(z.string(), settingValue).optional(),
  agents: z.array(agent, "must be written [[agents]], once for each agent").default([]),
});

/** The schema of one agent, for the page and the JSON schema. */
export const agentSchema = agent;

export type Config = z.output<typeof configSchema>;
export type AgentConfig = Config["agents"][number];

/** Every key that a table of the file may hold, for suggestions; the table's name is its path without indexes. */
export const knownKeys: Readonly<Record<string, readonly string[]>> = {
  "": Object.keys(configSchema.shape),
  agents: Object.keys(agent.shape),
};

/** The configuration without a file. */
export const noConfig: Config = { agents: [] };

/**
 * Reads `config.toml`. A file that does not exist sets nothing.
 *
 * @throws MillraceError `invalid_request` that names the file, the place in it and the valid values.
 */
export function readConfig(file: string): Config {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // reading a file fails with nothing else
    if (code === "ENOENT" || code === "ENOTDIR") return noConfig;
    const { why, hint } = barrierTo(file) ?? {
      why: `it cannot be read (${code ?? "unknown error"})`,
      hint: lookAt(file),
    };
    throw refused(file, why, hint, error);
  }
  return parseConfig(text, file);
}

/** The same; nothing where the file is wrong. */
export function readableConfig(file: string): Config {
  try {
    return readConfig(file);
  } catch (error) {
    if (isMillraceError(error)) return noConfig;
    throw error;
  }
}

/** The default model that the user set, by the name that was set; undefined for that of the account. */
export function defaultModelHere(
  env: Readonly<Record<string, string | undefined>>,
  { serve }: Config,
): string | undefined {
  const { MILLRACE_MODEL: named } = env;
  const { model } = serve ?? {};
  return named || (typeof model === "string" ? model : undefined);
}

/** Parses the text of a configuration file; `file` is its name in errors. Throws `invalid_request`. */
export function parseConfig(text: string, file: string): Config {
  let table: unknown;
  try {
    table = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ""] = error.message.split("\n");
    throw refused(
      file,
      `line ${error.line} is not TOML (${what.replace(/^Invalid TOML document: /, "").replace("control characters are not allowed in strings", "a string has no closing quote on its line")})`,
      undefined,
      error,
    );
  }
  const parsed = configSchema.safeParse(table, { error: wanted });
  if (!parsed.success) {
    const [first] = parsed.error.issues;
    if (first?.code === "unrecognized_keys") {
      const { path, keys } = first;
      const [table, key] = [String(path[0] ?? ""), keys[0] ?? ""];
      throw unknownKey(key, { place: table === "" ? "" : spell(path), known: knownKeys[table] ?? [] }, file);
    }
    const why = first === undefined ? "it is not understood" : `${spell(first.path)} ${first.message}`;
    throw refused(file, why, undefined, parsed.error);
  }
  const names = parsed.data.agents.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw refused(file, `two agents are named "${twice}"`, "Give each agent a name of its own.");
  return parsed.data;
}

/** What a value of the wrong type must be, where its schema does not say it. */
function wanted({ code, expected }: { readonly code?: string; readonly expected?: unknown }): string | undefined {
  if (code === "invalid_union") return "must be a text in quotes, a number, true, false, or a list of texts";
  const forms: Readonly<Record<string, string>> = {
    string: "a text in quotes",
    array: "a list",
    boolean: "true or false",
    record: "a table",
    object: "a table",
  };
  return code === "invalid_type" ? `must be ${forms[String(expected)] ?? String(expected)}` : undefined;
}

/** The error for a key that nothing reads. `place`: the table in words, "" for the top. */
function unknownKey(
  key: string,
  { place, known }: { readonly place: string; readonly known: readonly string[] },
  file: string,
): MillraceError {
  const lacks = place === "" ? "there is no setting" : `${place} has no setting`;
  return refused(file, `${lacks} "${key}"`, nearestOf(key, known));
}

/** A hint that names the nearest known setting, or all of them. */
function nearestOf(key: string, known: readonly string[]): string {
  const nearest = nearestWord(key, known);
  return nearest === undefined ? `The settings there are ${known.join(", ")}.` : `Did you mean "${nearest}"?`;
}

/** `agents[0].command`, as a person counts and writes it: `command of agent 1`. */
function spell(path: readonly PropertyKey[]): string {
  const [table, index, ...rest] = path.map(String);
  if (table === "agents" && index !== undefined) {
    const which = `agent ${Number(index) + 1}`;
    return rest.length === 0 ? which : `${rest.join(".")} of ${which}`;
  }
  return index === undefined ? `[${table}]` : `${[index, ...rest].join(".")} of [${table}]`;
}

function refused(file: string, why: string, hint?: string, cause?: unknown): MillraceError {
  return new MillraceError("invalid_request", `${file}: ${why}.`, {
    hint: hint ?? "`millrace config get` lists every setting; docs/reference.md says what each does.",
    ...(cause === undefined ? {} : { cause }),
  });
}

type Options = Readonly<Record<string, OptionSpec<unknown>>>;

/** Options of `serve` that concern only one start; a file cannot set them. */
const notSettings: ReadonlySet<string> = new Set(["background", "json", "accept", "pid"]);

/** The options that `[serve]` may set, by the key that the file uses. */
export function settingsOf(options: Options): ReadonlyMap<string, { name: string; spec: OptionSpec<unknown> }> {
  const settings = Object.entries(options).filter(([name]) => !notSettings.has(name));
  return new Map(settings.map(([name, spec]) => [tomlKey(name), { name, spec }]));
}

/** `logLevel` is `log_level` in the file. */
function tomlKey(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * The values of `[serve]` for a command's options. A file that cannot be used stops `serve`. Other commands use the settings that are
 * right, and report the error if they need the file.
 *
 * @throws MillraceError `invalid_request`, for `serve`.
 */
export function readServeTable(command: Command, file: string): Readonly<Record<string, unknown>> {
  if (command.name === "serve") return parseServeTable(readConfig(file), command.options, file);
  try {
    const known = Object.fromEntries(
      Object.entries(command.options).filter(([, spec]) => spec.isOfServe || spec.isSetting),
    );
    const keys = settingsOf(known);
    const table = Object.entries(readConfig(file).serve ?? {}).filter(([key]) => keys.has(key));
    return parseServeTable({ serve: Object.fromEntries(table) }, known, file);
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return {};
  }
}

/** The values of `[serve]` by option name. Throws `invalid_request` that names the key, and the nearest one for an unknown key. */
export function parseServeTable(
  { serve = {} }: Pick<Config, "serve">,
  options: Options,
  file: string,
): Readonly<Record<string, unknown>> {
  const keys = settingsOf(options);
  const values: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(serve)) {
    const found = keys.get(key);
    if (found === undefined) throw unknownKey(key, { place: "[serve]", known: [...keys.keys()] }, file);
    values[found.name] = parseValue(found.spec, value, (why) => refused(file, `${key} of [serve]${why}`));
  }
  return values;
}

function parseValue(spec: OptionSpec<unknown>, value: SettingValue, wrong: (why: string) => MillraceError): unknown {
  if (spec.value === undefined) {
    if (typeof value === "boolean") return value;
    throw wrong(" must be true or false");
  }
  const isList = Array.isArray(spec.initial);
  if (Array.isArray(value) && !isList) throw wrong(" must be one value and no list");
  if (typeof value === "boolean" && spec.choices === undefined) throw wrong(" cannot be true or false");
  try {
    return Array.isArray(value) ? value.flatMap((each) => spec.parse(each)) : spec.parse(String(value));
  } catch (error) {
    throw isMillraceError(error) ? wrong(`: ${error.message.replace(/\.$/, "")}`) : error;
  }
}
