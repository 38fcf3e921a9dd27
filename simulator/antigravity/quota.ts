import { initialUse } from "../account/plan.ts";
import type { OwnTurn, PlanOptions } from "../account/plan-options.ts";
import { QuotaWindow } from "../account/quota-window.ts";

const hourMs = 3_600_000;

/** The models of one pool share its limits. */
interface Pool {
  readonly id: string;
  readonly displayName: string;
  readonly short: QuotaWindow;
  readonly weekly: QuotaWindow;
}

/**
 * The rest of an Antigravity plan: a fraction for each model, and the same by pool if the build has pools. Zeros are left out, as
 * proto3 does. Source: docs/dev/wire/account.md, "Antigravity's quota".
 */
export class Quota {
  readonly #options: PlanOptions;
  readonly #pools: { readonly gemini: Pool; readonly others: Pool };

  constructor(options: PlanOptions, nowMs: number) {
    this.#options = options;
    const use = initialUse(options, nowMs);
    const half = { ...use.daily, usedPercent: use.daily.usedPercent / 2 };
    const pool = (id: string, displayName: string, short: typeof half): Pool => ({
      id,
      displayName,
      short: new QuotaWindow(5 * hourMs, short),
      weekly: new QuotaWindow(7 * 24 * hourMs, use.weekly),
    });
    // The other models are used half as much, so that the two can be told apart; exhausted is exhausted for all.
    this.#pools = {
      gemini: pool("gemini", "Gemini models", use.daily),
      others: pool("3p", "Other models", options.used === 100 ? use.daily : half),
    };
  }

  /** Whether this build answers the quota summary. */
  get tellsPools(): boolean {
    return this.#options.shape === "pools";
  }

  /** Takes the cost of a turn from both windows of its model's pool. */
  spend({ model, credits }: OwnTurn, nowMs: number): void {
    const pool = this.#poolOf(model);
    const percent = credits * this.#options.drain;
    pool.short.use(percent, nowMs);
    pool.weekly.use(percent / 4, nowMs);
  }

  #poolOf(label: string): Pool {
    return /gemini/i.test(label) ? this.#pools.gemini : this.#pools.others;
  }

  /** `quotaInfo` of one model; undefined if the model is not metered or the quota is unknown. */
  ofModel(label: string, nowMs: number): { remainingFraction?: number; resetTime: string } | undefined {
    if (this.#options.unknown) return undefined;
    return told(this.#poolOf(label).short, nowMs);
  }

  /** The answer of `RetrieveUserQuotaSummary`. */
  summary(nowMs: number) {
    if (this.#options.unknown) return { response: {} };
    const bucket = (pool: Pool, id: string, displayName: string, window: QuotaWindow) => {
      const { remainingFraction, resetTime } = told(window, nowMs);
      return {
        bucketId: `${pool.id}-${id}`,
        displayName,
        remaining: remainingFraction === undefined ? {} : { remainingFraction },
        resetTime,
        description: `${displayName} for ${pool.displayName}`,
      };
    };
    const groups = [this.#pools.gemini, this.#pools.others].map((pool) => ({
      displayName: pool.displayName,
      buckets: [bucket(pool, "5h", "5-hour limit", pool.short), bucket(pool, "weekly", "Weekly limit", pool.weekly)],
    }));
    return { response: { groups } };
  }
}

function told(window: QuotaWindow, nowMs: number): { remainingFraction?: number; resetTime: string } {
  const { usedPercent, resetsAtMs } = window.at(nowMs);
  const remainingFraction = Math.round(100 - usedPercent) / 100;
  return {
    ...(remainingFraction === 0 ? {} : { remainingFraction }),
    resetTime: new Date(resetsAtMs).toISOString().replace(/\.\d{3}Z$/, "Z"),
  };
}
