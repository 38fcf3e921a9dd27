import { z } from "zod";
import { splitCommand } from "../options.ts";

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

/** `~/.millrace/config.toml`. Unknown keys are errors. Documented in docs/configuration.md. */
export const configSchema = z.strictObject({
  /** Checked against the options of `serve`, by `parseServeTable`. */
  serve: z.record(z.string(), settingValue).optional(),
  agents: z.array(agent).default([]),
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

/** Variables that an agent program gets from the environment of Millrace. Everything else stays out. */
const passed: ReadonlySet<string> = new Set([
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LANGUAGE",
  "TERM",
  "TZ",
  "TMPDIR",
  "TEMP",
  "TMP",
  // Windows finds programs, folders and sockets by these.
  "USERPROFILE",
  "USERNAME",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "SYSTEMROOT",
  "SYSTEMDRIVE",
  "COMSPEC",
  "PATHEXT",
  "WINDIR",
]);

/** Never, not even by name: it makes the vendor's agent wait for a sign-in that only the editor can do. */
const forbidden: ReadonlySet<string> = new Set(["ACP_BACKEND"]);

/**
 * The environment of an agent program: an allow-list of variables that programs need to run, the variables that its configuration
 * passes on by name, and those that it sets. Names are compared as the system compares them: on Windows in any case.
 */
export function agentEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  agent: { readonly env: readonly string[]; readonly set: Readonly<Record<string, string>> },
  platform: NodeJS.Platform,
): Record<string, string> {
  const spelled = (name: string) => (platform === "win32" ? name.toUpperCase() : name);
  const named = new Set(agent.env.map(spelled));
  const chosen: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    const key = spelled(name);
    if (value === undefined || forbidden.has(name.toUpperCase())) continue;
    if (passed.has(key) || key.startsWith("LC_") || key.startsWith("XDG_") || named.has(key)) chosen[name] = value;
  }
  for (const [name, value] of Object.entries(agent.set)) if (!forbidden.has(name.toUpperCase())) chosen[name] = value;
  return chosen;
}
