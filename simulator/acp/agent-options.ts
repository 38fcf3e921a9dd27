import { z } from "zod";
import { calledName, faultSchema } from "../faults/call-faults.ts";

/** Points of a call at which the process of the agent dies. Those around `store` and the answer exist for prompts alone. */
const crashPoints = ["before-store", "after-store", "mid-answer", "before-reply", "after-reply"] as const;

/** One fault of the calls of one ACP method. Calls are counted over all processes of the agent. */
export const agentFaultSchema = faultSchema(
  { method: calledName },
  {
    /** Answer with this error and do nothing else. */
    error: z
      .strictObject({ code: z.number().int(), message: z.string(), data: z.record(z.string(), z.unknown()).optional() })
      .optional(),
    /** Wait before the call is handled. */
    delayMs: z.number().min(0).optional(),
    /** Never answer. */
    hang: z.literal(true).optional(),
    /** The process dies. `before-store` dies before the call has any effect, for any method. */
    crash: z.enum(crashPoints).optional(),
  },
);

export type AgentFault = z.infer<typeof agentFaultSchema>;

/** How the `devin` program is installed and behaves. Source: docs/dev/wire/acp.md. */
export const agentOptionsSchema = z.strictObject({
  /** The program's own version. */
  version: z.string().default("3000.11.3"),
  /** The CLI is also installed on its own; by default only under `devin-cli`. */
  cli: z.boolean().optional(),
  /** `devin auth login` has stored the account's key; by default only where the CLI is installed. */
  credentials: z.boolean().optional(),
  /** The only `clientInfo.name` that this build accepts; any when absent. */
  clientName: z.string().optional(),
  /** A free account: one model. */
  free: z.boolean().default(false),
  /** Whether the effort is a separate option (`thought_level`) for models whose id does not name it. */
  efforts: z.boolean().default(false),
  /** The behaviour of the `summarizer` type: answers; summarises text that is not framed as an execution trace; always summarises. */
  summarizer: z.enum(["answers", "unframed", "always"]).default("answers"),
  /** The owner's configuration lets the agent write: it asks in no mode, and the file is written. */
  acts: z.boolean().default(false),
  /** Stdio MCP servers of a session: started, or dropped without a word. */
  stdioServers: z.boolean().default(true),
  /** The client is asked for permission before each of those calls. */
  mcpPermission: z.boolean().default(false),
  /** Several calls in one answer of the model: made at once, or each after the result of the one before. */
  mcpCalls: z.enum(["together", "one-by-one"]).default("together"),
  /** Whether the tools of such a server are listed again when it says that they have changed. */
  mcpListsAgain: z.boolean().default(true),
  /** The agent looks with a tool of its own, and makes no call of such a server. */
  ownToolsFirst: z.boolean().default(false),
  /** Where a turn's tokens are reported. */
  usage: z.enum(["both", "update", "result", "none"]).default("both"),
  canDelete: z.boolean().default(true),
  faults: z.array(agentFaultSchema).default([]),
});

/** The caller's options. */
export type AgentInput = z.input<typeof agentOptionsSchema>;
export type AgentOptions = z.output<typeof agentOptionsSchema>;
