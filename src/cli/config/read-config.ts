import { readFileSync } from "node:fs";
import { parse, TomlError } from "smol-toml";
import type { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import { editDistance } from "../../models/nearest.ts";
import { type Config, configSchema, knownKeys } from "./config-schema.ts";
import { insteadOf } from "./removed-settings.ts";

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
    throw refused(file, `it cannot be read (${code ?? "unknown error"})`, "Let your user read the file.", error);
  }
  return parseConfig(text, file);
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
  const parsed = configSchema.safeParse(table);
  if (!parsed.success) {
    const [first] = parsed.error.issues;
    throw refused(file, first === undefined ? "it is not understood" : problem(first), suggestion(first), parsed.error);
  }
  const names = parsed.data.agents.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw refused(file, `two agents are named "${twice}"`, "Give each agent a name of its own.");
  return parsed.data;
}

function problem(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    const where = tableOf(path);
    if (insteadOf(removedKey(where, key)) !== undefined)
      return `${where === "" ? `[${key}]` : `${key} of ${spell(path)}`} is no setting any more`;
    return where === "" ? `there is no setting "${key}"` : `${spell(path)} has no setting "${key}"`;
  }
  return `${spell(path)} ${issue.message}`;
}

function suggestion(issue: z.core.$ZodIssue | undefined): string | undefined {
  if (issue?.code !== "unrecognized_keys") return undefined;
  const [key = ""] = issue.keys;
  const instead = insteadOf(removedKey(tableOf(issue.path.map(String)), key));
  if (instead !== undefined) return instead;
  const known = knownKeys[tableOf(issue.path.map(String))] ?? [];
  const [nearest] = known.toSorted((a, b) => editDistance(key, a) - editDistance(key, b));
  const near = nearest !== undefined && editDistance(key, nearest) <= Math.max(2, Math.floor(key.length / 2));
  return near ? `Did you mean "${nearest}"?` : `The settings there are ${known.join(", ")}.`;
}

/** The name of `removed-settings.ts` for a key outside of `[serve]`. */
function removedKey(table: string, key: string): string {
  return table === "" ? `[${key}]` : `${table}.${key}`;
}

/** `agents.0.set` → `agents`: the table whose keys are known. */
function tableOf(path: readonly string[]): string {
  return path[0] ?? "";
}

/** `agents[0].command`, as a person counts and writes it: `command of agent 1`. */
function spell(path: readonly string[]): string {
  const [table, index, ...rest] = path;
  if (table === "agents" && index !== undefined) {
    const which = `agent ${Number(index) + 1}`;
    return rest.length === 0 ? which : `${rest.join(".")} of ${which}`;
  }
  return path.length === 1 ? `[${table}]` : `${path.slice(1).join(".")} of [${table}]`;
}

function refused(file: string, why: string, hint: string | undefined, cause?: unknown): MillraceError {
  return new MillraceError("invalid_request", `${file}: ${why}.`, {
    hint: hint ?? "docs/configuration.md shows every setting of this file.",
    ...(cause === undefined ? {} : { cause }),
  });
}
