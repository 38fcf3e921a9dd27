import { z } from "zod";
import type { Command } from "../command.ts";
import { kebab } from "../options.ts";
import { agentSchema, configSchema, settingKeys } from "./read-config.ts";

/** One setting, as the page and `millrace config get` show it. */
export interface Setting {
  /** `serve.port`, as `config get` and `config set` name it. */
  readonly key: string;
  readonly option: string;
  readonly env: string | undefined;
  /** In words. */
  readonly initial: string;
  readonly unit: string;
  readonly summary: string;
}

/** Every setting of `[serve]`, from the command's own options. */
export function serveSettings({ options }: Command): readonly Setting[] {
  return [...settingKeys(options)].flatMap(([key, name]) => {
    const spec = options[name];
    if (spec === undefined) return [];
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
  const serve = [...settingKeys(options)].flatMap(([key, name]) => {
    const spec = options[name];
    if (spec === undefined) return [];
    const { choices, value, initial, summary } = spec;
    const one = choices === undefined ? z.union([z.string(), z.number()]) : z.enum(choices);
    const type =
      value === undefined ? z.boolean() : Array.isArray(initial) ? z.union([z.string(), z.array(z.string())]) : one;
    return [[key, type.optional().describe(summary)] as const];
  });
  const whole = z.strictObject({
    ...configSchema.shape,
    agents: z.array(agentSchema).optional(),
    serve: z.strictObject(Object.fromEntries(serve)).optional(),
  });
  return { title: "Millrace config.toml", ...z.toJSONSchema(whole, { io: "input" }) };
}

/** Settings that only a variable sets: name, default, unit, meaning. The rest of docs/settings.md comes from the options. */
export const environmentOnly: readonly (readonly [name: string, initial: string, unit: string, summary: string])[] = [
  ["MILLRACE_HOME", "~/.millrace", "a folder", "where Millrace keeps its own files"],
  ["MILLRACE_KEY_FILE", "key in that folder", "a file", "another file for the gateway's key"],
  ["MILLRACE_LOG_KEY_FILE", "log-key in that folder", "a file", "another file for the key that seals the log"],
  ["MILLRACE_IDE_HOMES", "your home", "folders", "more home folders to look for an IDE in"],
  ["MILLRACE_MODEL", "the account's default", "a model", "the model that chat and setup begin with"],
  ["MILLRACE_NO_RECORD", "off", "1, true, yes, on", "chat keeps no record of its question"],
  ["MILLRACE_ACCEPT", "off", "true, false", "agree, once, that prompts go to the IDE: as `serve --accept`"],
];
