import { z } from "zod";
import { parseDuration } from "../options.ts";
import { splitCommand } from "./split-command.ts";

/** How an agent is asked: as its default agent in `ask` mode, or as a summarizer, which has no tools. */
export const askingStyles = ["ask", "summarizer"] as const;
export type AskingStyle = (typeof askingStyles)[number];

/** Names that would read as something else in `<agent>/<model>` or in an id. */
const reservedNames: ReadonlySet<string> = new Set(["acp", "devin", "devin-next", "millrace", "windsurf"]);

const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "is not the name of a variable");
const style = z.enum(askingStyles, `must be one of ${askingStyles.join(", ")}`);
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
  client_name: z.string().min(1).optional().describe("the name that Millrace gives itself"),
});

const settingValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);
export type SettingValue = z.output<typeof settingValue>;

const acp = z.strictObject({
  command: command.optional().describe("the vendor's agent; --acp-command wins"),
  text: style.optional().describe("how a plain answer is asked: ask or summarizer"),
  tools: style.optional().describe("how an answer is asked when the client offers tools"),
  json: style.optional().describe("how an answer is asked when it has to be JSON"),
  client_name: z
    .string()
    .min(1)
    .optional()
    .describe("the name that Millrace gives itself; some builds accept windsurf only"),
  warm: z
    .string('must be a time such as "5m"')
    .transform((value, context) => {
      try {
        return parseDuration(value);
      } catch {
        context.addIssue({ code: "custom", message: 'must be a time such as "90s", "5m" or "0"' });
        return z.NEVER;
      }
    })
    .optional()
    .describe("how long any agent's idle process is kept"),
});

/** `~/.millrace/config.toml`. Unknown keys are errors. Documented in docs/configuration.md. */
export const configSchema = z.strictObject({
  /** Checked against the options of `serve`, by `read-serve-table.ts`. */
  serve: z.record(z.string(), settingValue).optional(),
  acp: acp.default({}),
  agents: z.array(agent).default([]),
});

/** The schemas of its other tables, for the page and the JSON schema. */
export const tables = { acp, agent };

export type Config = z.output<typeof configSchema>;
export type AgentConfig = Config["agents"][number];

/** Every key that a table of the file may hold, for suggestions; the table's name is its path without indexes. */
export const knownKeys: Readonly<Record<string, readonly string[]>> = {
  "": Object.keys(configSchema.shape),
  acp: Object.keys(acp.shape),
  agents: Object.keys(agent.shape),
};
