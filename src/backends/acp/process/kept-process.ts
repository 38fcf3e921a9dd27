import { z } from "zod";
import { parseJson } from "../../../base/json.ts";
import type { ToolSpec } from "../../backend.ts";

const schema = z.object({
  /** The key of its launch. */
  launch: z.string(),
  /** Equal for processes that were started with the same settings and the same account. */
  settings: z.string(),
  /** The name of our MCP server in its sessions. */
  server: z.string(),
  /** The reply to `initialize`. */
  initialized: z.unknown(),
  sessions: z.array(
    z.object({
      id: z.string(),
      userMessages: z.number(),
      told: z.string().optional(),
      /** The prompt of a turn that may go on: its request, and the number of the agent's lines before it. */
      prompt: z.object({ id: z.number(), from: z.number() }).optional(),
      /** The number of its own folder. */
      folder: z.number().optional(),
      /** No turn has it, and nothing waits in it: it was kept for a next turn of its gateway. */
      idle: z.boolean().optional(),
      /** How its relay finds the gateway. `given`: the calls that a client has from a turn whose end is stored. */
      tools: z.object({ socket: z.string(), secret: z.string(), given: z.array(z.string()).readonly() }).optional(),
    }),
  ),
  /** Requests of `session/load` without a reply. */
  loads: z.array(z.object({ sessionId: z.string(), id: z.number() })),
});
type Note = z.output<typeof schema>;
type NotedSession = Note["sessions"][number];

/** What another gateway needs to go on with the tools of a session: how its relay finds it, what is offered, and the calls that wait. */
export interface KeptTools extends NonNullable<NotedSession["tools"]> {
  readonly offered: readonly Pick<ToolSpec, "name" | "description" | "inputSchema">[];
}

/** Where an agent's process stands, as a gateway leaves it with the host for the next gateway. */
export interface KeptProcess extends Omit<Note, "sessions"> {
  readonly sessions: readonly (Omit<NotedSession, "tools"> & { readonly tools?: KeptTools | undefined })[];
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
