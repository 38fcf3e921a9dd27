import { creditsInWords, creditsOfAll } from "../../src/usage/prices.ts";
import type { UsageDaysEnvelope } from "../../src/usage/usage-days-envelope.ts";

export type Measure = "credits" | "turns" | "tokens";
type Spend = UsageDaysEnvelope["data"][number]["models"][number];

/** A part of every day's bar: one model, or all others together. */
export interface Series {
  readonly name: string;
  readonly total: number;
  /** One value for each day. */
  readonly values: readonly number[];
}

/** Bars of days, stacked by model. */
export interface Stacks {
  readonly days: readonly string[];
  readonly series: readonly Series[];
  readonly totals: readonly number[];
  readonly total: number;
  /** Before an amount: `~` where some of it is estimated, `≥` where it is not known of every turn. */
  readonly mark: string;
}

/** Models with a colour of their own; the rest is one series. */
const mostSeries = 5;

/** Days as bars: the models that used most each have a part, the first at the bottom. */
export function stacksOf(usage: UsageDaysEnvelope, measure: Measure): Stacks {
  const days = usage.data.map(({ day }) => day);
  const byModel = new Map<string, number[]>();
  usage.data.forEach(({ models }, place) => {
    for (const spend of models) {
      const name = spend.name ?? "unknown";
      const values = byModel.get(name) ?? days.map(() => 0);
      values[place] = (values[place] ?? 0) + amountOf(spend, measure);
      byModel.set(name, values);
    }
  });
  const all = [...byModel].map(([name, values]): Series => ({ name, values, total: sum(values) }));
  all.sort((a, b) => b.total - a.total || a.name.localeCompare(b.name));
  const used = all.filter(({ total }) => total > 0);
  // One that is left has a colour of its own as well as any others together.
  const places = used.length === mostSeries + 1 ? used.length : mostSeries;
  const [own, others] = [used.slice(0, places), used.slice(places)];
  const rest = days.map((_, place) => sum(others.map(({ values }) => values[place] ?? 0)));
  const series =
    others.length === 0 ? own : [...own, { name: `${others.length} others`, values: rest, total: sum(rest) }];
  const totals = days.map((_, place) => sum(series.map(({ values }) => values[place] ?? 0)));
  const mark = markOf(
    usage.data.flatMap(({ models }) => models),
    measure,
  );
  return { days, series, totals, total: sum(totals), mark };
}

/** Credits where the plan or its price list has some, else turns. */
export function firstMeasure(usage: UsageDaysEnvelope): Measure {
  const credits = creditsOfAll(usage.data.flatMap(({ models }) => models));
  return credits !== undefined && credits.value > 0 ? "credits" : "turns";
}

function amountOf(spend: Spend, measure: Measure): number {
  if (measure === "turns") return spend.turns;
  if (measure === "credits") return creditsOfAll([spend])?.value ?? 0;
  return spend.prompt_tokens + spend.completion_tokens + spend.thinking_tokens;
}

function markOf(spends: readonly Spend[], measure: Measure): string {
  if (measure === "turns") return "";
  if (measure === "tokens") return spends.some((of) => of.estimated_tokens > 0 || of.unknown_turns > 0) ? "~" : "";
  const credits = creditsOfAll(spends);
  return credits === undefined ? "" : creditsInWords(credits, () => "");
}

/** Two figures of each day, and of the whole time; null where no turn gave one. */
export interface Trends {
  readonly days: readonly Trend[];
  readonly whole: Trend;
}

interface Trend {
  /** 0..1 of all turns. */
  readonly failed: number | null;
  /** Mean. */
  readonly firstTokenMs: number | null;
}

/** How many turns failed, and how long first tokens took, from day to day. */
export function trendsOf({ data }: UsageDaysEnvelope): Trends {
  return { days: data.map(({ models }) => trendOf(models)), whole: trendOf(data.flatMap(({ models }) => models)) };
}

function trendOf(models: readonly Spend[]): Trend {
  const turns = sum(models.map((spend) => spend.turns));
  const timed = models.filter((spend) => spend.mean_first_token_ms !== null);
  const timedTurns = sum(timed.map((spend) => spend.turns));
  const waitedMs = sum(timed.map((spend) => (spend.mean_first_token_ms ?? 0) * spend.turns));
  return {
    failed: turns === 0 ? null : sum(models.map((spend) => spend.failed)) / turns,
    firstTokenMs: timedTurns === 0 ? null : waitedMs / timedTurns,
  };
}

/** A round number at or above a value: where an axis ends. */
export function axisEnd(most: number): number {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 2.5, 5, 10].find((step) => step * power >= most) ?? 10) * power;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
