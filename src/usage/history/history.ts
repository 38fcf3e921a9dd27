import { z } from "zod";
import type { MillraceError } from "../../base/errors.ts";
import type { IdeVariant } from "../../language-server/transport/endpoint.ts";
import type { LimitsSnapshot } from "../limits.ts";
import type { FinishedTurn } from "./finished-turn.ts";
import type { TurnGroups, TurnPageFilter, TurnPageQuery, TurnTotals } from "./turn-page-query.ts";

/** The ways to group spending. Days are those of the caller's time zone. */
export const spendDimensions = ["model", "client", "project", "key", "dialect", "day"] as const;
export type SpendDimension = (typeof spendDimensions)[number];

export interface SpendQuery {
  /** Epoch ms, inclusive; counted from the quarter of an hour that it lies in. */
  readonly sinceMs: number;
  /** Epoch ms, exclusive. */
  readonly untilMs: number;
  readonly by: SpendDimension;
  /** IANA name; days begin at its midnight. Only used with `day`. */
  readonly timeZone: string;
}

/** The days that a time touches, of one time zone. */
export type DaysQuery = Pick<SpendQuery, "sinceMs" | "untilMs" | "timeZone">;

/** One day's spending by model; days without a turn have none. */
export interface DaySpend {
  /** `2026-11-21` */
  readonly day: string;
  readonly models: readonly Spend[];
}

/** Sums over turns that ended in the time asked for, as its JSON has them. Tokens are counts, durations ms. */
export const spendSchema = z.object({
  /** Model UID, product name, folder, dialect or `2026-11-21`; null for turns without this value. */
  key: z.string().nullable(),
  turns: z.number(),
  finished: z.number(),
  failed: z.number(),
  cancelled: z.number(),
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  thinking_tokens: z.number(),
  cached_prompt_tokens: z.number(),
  /** Turns whose tokens were estimated here, and how many of the tokens above come from them. */
  estimated_turns: z.number(),
  estimated_tokens: z.number(),
  /** Turns without any count. */
  unknown_turns: z.number(),
  /** Of the turns whose cost the server reported. */
  credits: z.number(),
  credits_known_turns: z.number(),
  /** Credits of further turns by the price list of their time, and how many turns these are. */
  credits_estimated: z.number().default(0),
  credits_estimated_turns: z.number().default(0),
  duration_ms: z.number(),
  /** Null if no turn had a first token. */
  mean_first_token_ms: z.number().nullable(),
});
export type Spend = z.infer<typeof spendSchema>;

/** The turns that ended in a part of a time, by model, most turns first. */
export interface TurnBar {
  readonly fromMs: number;
  readonly models: readonly Spend[];
}

/** The known cost of turns through the gateway in a time. */
export interface ExplainedCost {
  readonly turns: number;
  readonly creditsHundredths: number;
  readonly unknownTurns: number;
}

/** What reports ask of a history. A gateway asks on a thread of its own (`reports.ts`): a report may read many rows. */
export interface UsageReads {
  /** Readings in order of time, `sinceMs` inclusive, `untilMs` exclusive. */
  snapshots(query: {
    readonly ide?: IdeVariant;
    readonly sinceMs: number;
    readonly untilMs: number;
  }): readonly LimitsSnapshot[];
  /** The names that models had when turns used them: the last one of each UID before `untilMs`. */
  modelNames(untilMs: number): ReadonlyMap<string, string>;
  /** Most expensive first; days in order. */
  spend(query: SpendQuery): readonly Spend[];
  /** Every day in order, each with its models, most expensive first. The first and the last day may be parts of days. */
  spendByDay(query: DaysQuery): readonly DaySpend[];
  /** When turns of these models ended last, epoch ms, by UID; a model that was never used is not in it. */
  lastUses(models: readonly string[]): ReadonlyMap<string, number>;
  /** A page of turns in any order. */
  turnPage(query: TurnPageQuery): readonly FinishedTurn[];
  turnTotals(filter: TurnPageFilter): TurnTotals;
  /** The same turns in parts of `widthMs` each from the filter's begin, in order; a part without a turn is left out. */
  turnBars(filter: TurnPageFilter, widthMs: number): readonly TurnBar[];
  /** Every model, client and key that ever had a turn. */
  turnGroups(): TurnGroups;
  /**
   * Cost of turns that ended from `fromMs` (exclusive) to `toMs` (inclusive). Turns without a noted IDE count for both Windsurfs,
   * because Antigravity never gets a prompt.
   */
  explained(ide: IdeVariant, fromMs: number, toMs: number): ExplainedCost;
}

/**
 * Readings of the plan and finished turns, kept over restarts. Adding is idempotent: a turn by its id, a reading by its
 * IDE and time. Every method throws `degraded` when the store is full, locked or gone.
 */
export interface UsageHistory extends UsageReads {
  /** The reason why new entries wait in memory; undefined if they do not. */
  readonly degradedBy: MillraceError | undefined;
  addSnapshot(snapshot: LimitsSnapshot): void;
  /** False if this turn was there already: it is not counted twice. */
  addTurn(turn: FinishedTurn): boolean;
  /** The same for several, in one transaction. */
  addTurns(turns: readonly FinishedTurn[]): readonly boolean[];
  /** The newest reading of each IDE that is not older than `sinceMs`. */
  latestSnapshots(sinceMs: number): readonly LimitsSnapshot[];
  turn(turnId: string): FinishedTurn | undefined;
  /** Thins old readings and removes expired rows, a few at a time: true while there may be more. */
  sweep(nowMs: number): boolean;
  close(): void;
}
