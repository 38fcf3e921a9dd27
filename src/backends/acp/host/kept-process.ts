import { z } from "zod";
import { parseJson } from "../../../base/json.ts";
import type { KeptTools } from "../tools/session-tools.ts";

const schema = z.object({
  launch: z.string(),
  settings: z.string(),
  initialized: z.unknown(),
  sessions: z.array(
    z.object({
      id: z.string(),
      userMessages: z.number(),
      told: z.string().optional(),
      prompt: z.object({ id: z.number(), from: z.number() }).optional(),
      folder: z.number().optional(),
      tools: z
        .object({
          socket: z.string(),
          secret: z.string(),
          offered: z.array(z.custom<KeptTools["offered"][number]>()),
          given: z.array(z.string()),
        })
        .optional(),
    }),
  ),
  loads: z.array(z.object({ sessionId: z.string(), id: z.number() })),
});

/** Where an agent's process stands, as a gateway leaves it with the host for the next gateway. */
export interface KeptProcess {
  /** The key of its launch. */
  readonly launch: string;
  /** Equal for processes that were started with the same settings and the same account. */
  readonly settings: string;
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
    readonly tools?: KeptTools | undefined;
  }[];
  /** Requests of `session/load` without a reply. */
  readonly loads: readonly { readonly sessionId: string; readonly id: number }[];
}

/** Throws a `ZodError` for the note of another build. */
export function readKept(state: string): KeptProcess {
  return schema.parse(parseJson(state));
}
