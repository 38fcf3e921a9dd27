import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { editDistance } from "../../models/nearest.ts";
import type { Command } from "../command.ts";
import type { OptionSpec } from "../options.ts";
import type { Config, SettingValue } from "./config-schema.ts";
import { readConfig } from "./read-config.ts";
import { insteadOf } from "./removed-settings.ts";

type Options = Readonly<Record<string, OptionSpec<unknown>>>;

/** Options of `serve` that concern only one start; a file cannot set them. */
const notSettings: ReadonlySet<string> = new Set(["background", "json", "accept"]);

/** The options that `[serve]` may set, by the key that the file uses. */
export function settingKeys(options: Options): ReadonlyMap<string, string> {
  const names = Object.keys(options).filter((name) => !notSettings.has(name));
  return new Map(names.map((name) => [tomlKey(name), name]));
}

/** `logLevel` is `log_level` in the file. */
export function tomlKey(option: string): string {
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
      Object.entries(command.options).filter(([, spec]) => spec.explainedBy === "serve"),
    );
    const keys = settingKeys(known);
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
  const keys = settingKeys(options);
  const values: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(serve)) {
    const name = keys.get(key);
    const spec = name === undefined ? undefined : options[name];
    if (name === undefined || spec === undefined) throw unknownKey(key, [...keys.keys()], file);
    values[name] = parseValue(spec, value, `${file}: ${key} of [serve]`);
  }
  return values;
}

function parseValue(spec: OptionSpec<unknown>, value: SettingValue, where: string): unknown {
  if (spec.value === undefined) {
    if (typeof value === "boolean") return value;
    throw refused(`${where} must be true or false.`);
  }
  if (Array.isArray(spec.initial)) return [value].flat().map(String);
  if (typeof value === "boolean" || Array.isArray(value)) throw refused(`${where} must be one value.`);
  try {
    return spec.parse(String(value));
  } catch (error) {
    throw isMillraceError(error) ? refused(`${where}: ${error.message}`) : error;
  }
}

function unknownKey(key: string, known: readonly string[], file: string): MillraceError {
  const instead = insteadOf(key);
  if (instead !== undefined)
    return new MillraceError("invalid_request", `${file}: ${key} of [serve] is no setting any more.`, {
      hint: instead,
    });
  const [nearest] = known.toSorted((a, b) => editDistance(key, a) - editDistance(key, b));
  const isNear = nearest !== undefined && editDistance(key, nearest) <= Math.max(2, Math.floor(key.length / 2));
  return new MillraceError("invalid_request", `${file}: [serve] has no setting "${key}".`, {
    hint: isNear ? `Did you mean "${nearest}"?` : `The settings there are ${known.join(", ")}.`,
  });
}

function refused(message: string): MillraceError {
  return new MillraceError("invalid_request", message, { hint: "docs/settings.md shows every setting." });
}
