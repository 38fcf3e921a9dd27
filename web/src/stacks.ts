import { creditsInWords, creditsOfAll } from "../../src/usage/prices.ts";
import type { Bar } from "./use-in-bars.ts";

export type Measure = "credits" | "turns" | "tokens";
type Spend = Bar["models"][number];

/** A part of every day's bar: one model, or all others together. */
export interface Series {
  readonly name: string;
  readonly total: number;
  /** One value for each day. */
  readonly values: readonly number[];
}

/** Bars of days, stacked by model. */
export interface Stacks {
  readonly bars: readonly Bar[];
  readonly series: readonly Series[];
  readonly totals: readonly number[];
  readonly total: number;
  /** Before an amount: `~` where some of it is estimated, `≥` where it is not known of every turn. */
  readonly mark: string;
}

/** Models with a colour of their own; the rest is one series. */
const mostSeries = 5;

/** Days as bars: the models that used most each have a part, the first at the bottom. */
export function stacksOf(bars: readonly Bar[], measure: Measure): Stacks {
  const byModel = new Map<string, number[]>();
  bars.forEach(({ models }, place) => {
    for (const spend of models) {
      const name = spend.name ?? "unknown";
      const values = byModel.get(name) ?? bars.map(() => 0);
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
  const rest = bars.map((_, place) => sum(others.map(({ values }) => values[place] ?? 0)));
  const series =
    others.length === 0 ? own : [...own, { name: `${others.length} others`, values: rest, total: sum(rest) }];
  const totals = bars.map((_, place) => sum(series.map(({ values }) => values[place] ?? 0)));
  const mark = markOf(
    bars.flatMap(({ models }) => models),
    measure,
  );
  return { bars, series, totals, total: sum(totals), mark };
}

/** Credits where the plan or its price list has some, else turns. */
export function firstMeasure(bars: readonly Bar[]): Measure {
  const credits = creditsOfAll(bars.flatMap(({ models }) => models));
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

/** A figure of some turns; null where none of them gave one. */
export type Figure = (spends: readonly Spend[]) => number | null;

export const figures = {
  turns: (spends) => sum(spends.map(({ turns }) => turns)),
  tokens: (spends) => sum(spends.map((spend) => amountOf(spend, "tokens"))),
  credits: (spends) => creditsOfAll(spends)?.value ?? null,
  /** 0..1 of all turns. */
  failed: (spends) => share(sum(spends.map(({ failed }) => failed)), sum(spends.map(({ turns }) => turns))),
  /** Mean. */
  firstTokenMs: (spends) => {
    const timed = spends.filter((spend) => spend.mean_first_token_ms !== null);
    const waitedMs = sum(timed.map((spend) => (spend.mean_first_token_ms ?? 0) * spend.turns));
    return share(waitedMs, sum(timed.map(({ turns }) => turns)));
  },
} as const satisfies Record<string, Figure>;

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

/** How a figure moved since the time before, in percent; undefined where there was nothing before. */
export function changeOf(now: number | null, before: number | null): number | undefined {
  if (now === null || before === null || before === 0) return undefined;
  return Math.round((now / before - 1) * 100);
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
