import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { isDegraded, isMillraceError, MillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import type { Spend, UsageHistory } from "../../usage/history/history.ts";
import type { SharedUsage } from "../../usage/shared/shared-usage.ts";
import type { Budget, KeyRecord } from "./key-record.ts";

const longestMs = 86_400_000;

export interface KeyBudgetsOptions {
  /** Has `catchUp` if several gateways share their ended turns: it fetches the others' turns. */
  readonly history: Pick<UsageHistory, "spend" | "turn" | "degradedBy"> & { catchUp?(): Promise<void> };
  readonly clock: Pick<Clock, "now">;
  /** Where several gateways share the budgets: it counts the turns of all. */
  readonly shared?: Pick<SharedUsage, "hold" | "withdraw"> | undefined;
}

/** The rest of each key's budget. Ended turns are in the usage history; running turns are held here until the history has them. */
export class KeyBudgets {
  readonly #options: KeyBudgetsOptions;
  readonly #held = new Map<string, Map<TurnId, number>>();

  constructor(options: KeyBudgetsOptions) {
    this.#options = options;
  }

  /**
   * Counts a turn that is about to start. Check and count are one step: of two requests at once, only one gets the last turn. The
   * returned function takes it back, for a turn that does not start after all.
   *
   * @throws MillraceError `quota_exhausted` where the budget is used up, `unavailable` where the history cannot be read.
   */
  hold(key: KeyRecord, turnId: TurnId): (() => void) | Promise<() => void> {
    const { shared, history } = this.#options;
    const { budget } = key;
    if (budget === undefined || shared === undefined) return this.#holdHere(key, turnId);
    if (budget.unit === "turns") return this.#holdShared(shared, key, budget, turnId);
    return this.#caughtUp(history.catchUp?.()).then(() => this.#holdHere(key, turnId));
  }

  #holdHere(key: KeyRecord, turnId: TurnId): () => void {
    const held = this.#heldOf(key.id);
    if (key.budget !== undefined) this.#check(key, key.budget, held.size);
    held.set(turnId, this.#options.clock.now());
    return () => void held.delete(turnId);
  }

  /** Fetches the turns that ended at other gateways, before each start: a turn's use is known only at its end. */
  async #caughtUp(catchingUp: Promise<void> | undefined): Promise<void> {
    try {
      await catchingUp;
    } catch (error) {
      throw isDegraded(error) ? unreadable(error) : error;
    }
  }

  /** Here, and in the shared store too, so that of two requests to two gateways only one gets the last turn. */
  async #holdShared(
    shared: Pick<SharedUsage, "hold" | "withdraw">,
    key: KeyRecord,
    budget: Budget,
    turnId: TurnId,
  ): Promise<() => void> {
    const withdraw = this.#holdHere(key, turnId);
    const period = { keyId: key.id, ...this.#periodOf(budget) };
    try {
      if (!(await shared.hold(period, turnId, budget.most))) throw this.#usedUp(key, budget);
    } catch (error) {
      withdraw();
      throw isDegraded(error) ? unreadable(error) : error;
    }
    return () => {
      withdraw();
      void bestEffort(shared.withdraw(period, turnId)); // else it counts until the period is over
    };
  }

  /**
   * The used part of a key's budget, and the time when the budget starts again; undefined for a key without a budget. `used` is
   * undefined if the history cannot be read.
   */
  standing(key: KeyRecord): { readonly used: number | undefined; readonly resetsAtMs: number } | undefined {
    if (key.budget === undefined) return undefined;
    const { untilMs } = this.#periodOf(key.budget);
    try {
      return { used: this.#used(key, key.budget, this.#heldOf(key.id).size), resetsAtMs: untilMs };
    } catch (error) {
      if (isUnavailable(error)) return { used: undefined, resetsAtMs: untilMs };
      throw error;
    }
  }

  /** Counts a turn that runs already: an earlier process started it. */
  count(key: KeyRecord, turnId: TurnId): void {
    this.#heldOf(key.id).set(turnId, this.#options.clock.now());
  }

  #used({ name }: KeyRecord, budget: Budget, running: number): number {
    const { unit } = budget;
    const nowMs = this.#options.clock.now();
    const { sinceMs } = this.#periodOf(budget);
    return usedOf(this.#spent(name, sinceMs, nowMs + 1), unit) + (unit === "turns" ? running : 0);
  }

  #check(key: KeyRecord, budget: Budget, running: number): void {
    if (this.#used(key, budget, running) >= budget.most) throw this.#usedUp(key, budget);
  }

  #usedUp({ name }: KeyRecord, budget: Budget): MillraceError {
    const { most, unit, period } = budget;
    const { untilMs } = this.#periodOf(budget);
    const per = period === "day" ? "today" : "this month";
    return new MillraceError("quota_exhausted", `The key ${name} has used its ${most} ${unit} for ${per}.`, {
      hint: `Its budget starts again at ${new Date(untilMs).toISOString()}. The owner of the gateway can give it a larger one.`,
      resetsAtMs: untilMs,
      retryAfterMs: untilMs - this.#options.clock.now(),
    });
  }

  #periodOf({ period }: Budget): { readonly sinceMs: number; readonly untilMs: number } {
    const { clock, shared } = this.#options;
    return periodAt(period, clock.now(), shared === undefined ? "local" : "utc");
  }

  #spent(name: string, sinceMs: number, untilMs: number): Spend | undefined {
    const { history } = this.#options;
    try {
      if (history.degradedBy !== undefined) throw history.degradedBy; // what ended since is not in it
      const rows = history.spend({ sinceMs, untilMs, by: "key", timeZone: "UTC" });
      return rows.find(({ key }) => key === name);
    } catch (cause) {
      throw unreadable(cause);
    }
  }

  /** The turns of a key that the history does not have yet. */
  #heldOf(id: string): Map<TurnId, number> {
    const { history, clock } = this.#options;
    const held = this.#held.get(id) ?? new Map<TurnId, number>();
    this.#held.set(id, held);
    for (const [turnId, atMs] of held)
      if (atMs + longestMs < clock.now() || history.turn(turnId) !== undefined) held.delete(turnId);
    return held;
  }
}

/** The day or month that an instant lies in: of this machine's time zone, or of UTC, which is the same on all machines. */
export function periodAt(
  period: Budget["period"],
  atMs: number,
  zone: "local" | "utc" = "local",
): { readonly sinceMs: number; readonly untilMs: number } {
  const at = new Date(atMs);
  const isUtc = zone === "utc";
  const [year, month] = isUtc ? [at.getUTCFullYear(), at.getUTCMonth()] : [at.getFullYear(), at.getMonth()];
  const day = isUtc ? at.getUTCDate() : at.getDate();
  const start = (month: number, day: number) =>
    isUtc ? Date.UTC(year, month, day) : new Date(year, month, day).getTime();
  if (period === "day") return { sinceMs: start(month, day), untilMs: start(month, day + 1) };
  return { sinceMs: start(month, 1), untilMs: start(month + 1, 1) };
}

function unreadable(cause: unknown): MillraceError {
  return new MillraceError("unavailable", "The used budget of this key cannot be read now.", {
    hint: "Try again in a moment. A key without a budget, such as the owner's, is served meanwhile.",
    retryAfterMs: 5_000,
    cause,
  });
}

function isUnavailable(error: unknown): boolean {
  return isMillraceError(error) && error.code === "unavailable";
}

function usedOf(spend: Spend | undefined, unit: Budget["unit"]): number {
  if (spend === undefined) return 0;
  if (unit === "turns") return spend.turns;
  if (unit === "credits") return spend.creditsHundredths / 100;
  return spend.promptTokens + spend.completionTokens + spend.thinkingTokens;
}
