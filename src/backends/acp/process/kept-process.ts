import { z } from "zod";
import { parseJson } from "../../../base/json.ts";
import type { ToolSpec } from "../../backend.ts";

const schema = z.object({
  launch: z.string(),
  settings: z.string(),
  server: z.string(),
  initialized: z.unknown(),
  sessions: z.array(
    z.object({
      id: z.string(),
      userMessages: z.number(),
      told: z.string().optional(),
      prompt: z.object({ id: z.number(), from: z.number() }).optional(),
      folder: z.number().optional(),
      idle: z.boolean().optional(),
      tools: z
        .object({
          socket: z.string(),
          secret: z.string(),
          given: z.array(z.string()),
        })
        .optional(),
    }),
  ),
  loads: z.array(z.object({ sessionId: z.string(), id: z.number() })),
});

/** What another gateway needs to go on with the tools of a session: how its relay finds it, what is offered, and the calls that wait. */
export interface KeptTools {
  readonly socket: string;
  readonly secret: string;
  readonly offered: readonly Pick<ToolSpec, "name" | "description" | "inputSchema">[];
  /** The calls that a client has from a turn whose end is stored. */
  readonly given: readonly string[];
}

/** Where an agent's process stands, as a gateway leaves it with the host for the next gateway. */
export interface KeptProcess {
  /** The key of its launch. */
  readonly launch: string;
  /** Equal for processes that were started with the same settings and the same account. */
  readonly settings: string;
  /** The name of our MCP server in its sessions. */
  readonly server: string;
  /** The reply to `initialize`. */
  readonly initialized?: unknown;
  readonly sessions: readonly {
    readonly id: string;
    readonly userMessages: number;
    readonly told?: string | undefined;
    /** The prompt of a turn that may go on: its request, and the number of the agent's lines before it. */
    readonly prompt?: { readonly id: number; readonly from: number } | undefined;
    /** The number of its own folder. */
    readonly folder?: number | undefined;
    /** No turn has it, and nothing waits in it: it was kept for a next turn of its gateway. */
    readonly idle?: boolean | undefined;
    readonly tools?: KeptTools | undefined;
  }[];
  /** Requests of `session/load` without a reply. */
  readonly loads: readonly { readonly sessionId: string; readonly id: number }[];
}

/**
 * Reads the state and the parts of a note. A part is named after its session and has the tools that are offered there. Throws a `ZodError`
 * for what is no note.
 */
export function readKept(state: string, parts: Readonly<Record<string, string>>): KeptProcess {
  const { sessions, ...kept } = schema.parse(parseJson(state));
  const offeredIn = (id: string) => parseJson(parts[id] ?? "[]") as KeptTools["offered"]; // as `SessionTools` spells them
  return {
    ...kept,
    sessions: sessions.map(({ tools, ...session }) => ({
      ...session,
      tools: tools && { ...tools, offered: offeredIn(session.id) },
    })),
  };
}
