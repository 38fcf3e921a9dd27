import { z } from "zod";
import type { FinishedTurn } from "./finished-turn.ts";

/** The orders of a page of turns. */
export const turnOrders = [
  "time",
  "model",
  "client",
  "project",
  "dialect",
  "tokens_in",
  "tokens_out",
  "credits",
  "first_token",
  "duration",
  "status",
] as const;

export type TurnOrder = (typeof turnOrders)[number];

/** Which turns are asked for: all that is given must hold. */
export interface TurnPageFilter {
  /** Epoch ms of the end, inclusive and exclusive. */
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly turnId?: string | undefined;
  readonly outcome?: FinishedTurn["outcome"] | undefined;
  /** The UID. */
  readonly model?: string | undefined;
  readonly client?: string | undefined;
  readonly dialect?: string | undefined;
  /** The name of a key. */
  readonly key?: string | undefined;
  /** Part of an id, a model's UID or name, a client, a project or a reason; case does not matter. */
  readonly search?: string | undefined;
}

export interface TurnPageQuery extends TurnPageFilter {
  readonly order: TurnOrder;
  readonly descending: boolean;
  readonly offset: number;
  readonly limit: number;
  /** Whether the totals are wanted too. */
  readonly sums: boolean;
}

/** Sums over all turns that a filter takes, not over one page, as their JSON has them. */
export const turnTotalsSchema = z.object({
  turns: z.number(),
  failed: z.number(),
  /** Of those that failed: because of the request itself. */
  mistaken: z.number(),
  /** Turns whose tokens Millrace estimated. */
  estimated_turns: z.number(),
  tokens_in: z.number(),
  tokens_out: z.number(),
  credits: z.number(),
  credits_known_turns: z.number(),
  /** Time to the first token of the newest 1,000 that had one; null if none had. */
  median_first_token_ms: z.number().nullable(),
  p95_first_token_ms: z.number().nullable(),
});
export type TurnTotals = z.infer<typeof turnTotalsSchema>;

/** What turns can be filtered by: each model's UID, client and name of a key that ever had a turn, in order. */
export type TurnGroups = Readonly<Record<"model" | "client" | "key", readonly string[]>>;
