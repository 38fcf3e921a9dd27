import type { FinishedTurn } from "../history/finished-turn.ts";
import type { TurnCalls } from "../history/tool-calls.ts";

/** A note that one gateway sends to the others for their histories. Adding it twice changes nothing. */
export type UsageNote =
  | { readonly turn: FinishedTurn; readonly calls?: never }
  | { readonly calls: TurnCalls; readonly turn?: never };

/** Names one period of a budget. It ends at `untilMs`. */
export interface BudgetPeriod {
  readonly keyId: string;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/**
 * Data that gateways share beside their turns: notes on usage, in one order, and the turns that each key has begun. Every method
 * throws `degraded` while the store cannot be reached.
 */
export interface SharedUsage {
  add(notes: readonly UsageNote[]): Promise<void>;
  /** Notes after that cursor, oldest first; the first cursor is `0`. Notes past their time are not among them. */
  after(cursor: string, limit: number): Promise<{ readonly notes: readonly UsageNote[]; readonly cursor: string }>;
  /**
   * Counts a turn for a key, unless that many are counted: false then. Check and count are one step for all gateways. A turn that is
   * counted already stays counted once.
   */
  hold(period: BudgetPeriod, turnId: string, most: number): Promise<boolean>;
  /** Takes a turn back that did not start. */
  withdraw(period: BudgetPeriod, turnId: string): Promise<void>;
  /** How many turns are counted. */
  held(period: BudgetPeriod): Promise<number>;
  close(): Promise<void>;
}
