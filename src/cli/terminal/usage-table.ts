import { productOfIde } from "../../base/ide-name.ts";
import type {
  ElsewhereEnvelope,
  LimitsEnvelope,
  LimitsOfIde,
  LimitsWindowEnvelope,
  SpendEnvelope,
  UsageEnvelope,
} from "../../usage/envelope.ts";
import { durationInWords, type FormatInstant, paceFromJson, paceInWords } from "../../usage/pace-words.ts";
import { creditsInWords, creditsOfAll } from "../../usage/prices.ts";
import { amountInWords, type Tone, toneOf } from "../../usage/window-words.ts";
import { displayWidth, padEndTo, padStartTo, wrapLine } from "./display-width.ts";
import type { Output } from "./output.ts";
import { type Column, printTable } from "./table.ts";

interface TableOptions {
  readonly models: boolean;
  readonly nowMs: number;
  readonly formatInstant: FormatInstant;
}

type Screen = Pick<Output, "style" | "isTerminal" | "columns">;

/** The limits of every IDE as lines: name, bar with the even-pace tick (on a terminal), used part, reset, pace. No line is wider than the terminal. */
export function limitsTable(limits: LimitsEnvelope, out: Screen, options: TableOptions): readonly string[] {
  const blocks = limits.data.map((of) => [heading(of, out, options.nowMs), ...windowLines(of, out, options)]);
  const lines = blocks.flatMap((block, index) => (index === 0 ? block : ["", ...block]));
  return out.isTerminal ? lines.flatMap((line) => wrapLine(line, out.columns)) : lines;
}

function windowLines(of: LimitsOfIde, out: Screen, options: TableOptions): readonly string[] {
  const windows = of.windows.filter((window) => options.models || window.scope !== "model");
  if (windows.length === 0) return ["  The IDE did not report the limits of the plan."];
  const rowsWith = (cells: number) => windows.map((window) => rowOf(window, cells, out, options));
  const lines = rowLines(rowsWith(wideBar), (head, { reset, pace }) => [spread(head, reset, pace)]);
  if (!out.isTerminal || lines.every((line) => displayWidth(line) <= out.columns)) return lines;
  return rowLines(rowsWith(narrowBar), (head, { reset, pace }, below) => withLine(head, below, [reset, pace]));
}

/** Windows as rows of one table: labels and amounts below each other; `below` is the indent of a line under the bar. */
function rowLines(
  rows: readonly Row[],
  layout: (head: string, row: Row, below: string) => readonly string[],
): readonly string[] {
  const labelWidth = Math.max(...rows.map(({ label }) => displayWidth(label)));
  const amountWidth = Math.max(...rows.map(({ amount: used }) => displayWidth(used)));
  return rows.flatMap((row) => {
    const head = `  ${padEndTo(row.label, labelWidth)}  ${row.bar}${padStartTo(row.amount, amountWidth)}`;
    return layout(head, row, " ".repeat(labelWidth + 4));
  });
}

function spread(head: string, reset: string, pace: string): string {
  return `${head}  ${padEndTo(reset, 24)}  ${pace}`.trimEnd();
}

/** The text of one window, styled for the terminal; `bar` with the blanks after it, and empty off a terminal. */
type Row = ReturnType<typeof rowOf>;

function rowOf(window: LimitsWindowEnvelope, cells: number, out: Screen, { nowMs, formatInstant }: TableOptions) {
  return {
    label: window.label,
    bar: out.isTerminal ? `${barOf(window, cells, out)}  ` : "",
    amount: amount(window),
    reset: resetOf(window, nowMs),
    pace: paceOf(window, out, formatInstant),
  };
}

/** A line, and below it those of the parts that say anything. */
function withLine(head: string, indent: string, parts: readonly string[]): readonly string[] {
  const more = parts.filter((part) => part !== "").join(" · ");
  return more === "" ? [head] : [head, `${indent}${more}`];
}

function heading(of: LimitsOfIde, out: Pick<Output, "style">, nowMs: number): string {
  const age = durationInWords(nowMs - Date.parse(of.fetched_at));
  const when = age !== "now" ? `read ${age} ago` : of.stale ? "read less than a minute ago" : "read just now";
  const read = of.source === "saved_plan" ? `saved plan, ${when.replace("read", "written")}` : when;
  const parts = [of.plan_name, of.stale ? `${read}, may have changed since` : read].filter((part) => part !== null);
  return `${out.style("bold", of.product || of.ide)}  ${out.style("dim", parts.join(" · "))}`;
}

/** Cells of a bar; fewer where the line would be broken otherwise. */
const wideBar = 20;
const narrowBar = 10;

/** Filled as far as the limit is used; `│` stands where an even pace would be now. */
function barOf(window: LimitsWindowEnvelope, cells: number, out: Pick<Output, "style">): string {
  if (window.utilization === null) return " ".repeat(cells);
  const filled = window.utilization === 0 ? 0 : Math.max(1, Math.round(window.utilization * cells));
  const elapsed = window.pace?.elapsed ?? null;
  const tick = elapsed === null ? -1 : Math.min(cells - 1, Math.floor(elapsed * cells));
  const bar = Array.from({ length: cells }, (_, cell) => (cell === tick ? "│" : cell < filled ? "█" : "░")).join("");
  return out.style(colours[toneOf(window)], bar);
}

const colours = { good: "green", warn: "yellow", bad: "red", plain: "green" } as const satisfies Record<Tone, string>;

/** What is left of a limit or used of it, in its own unit: `12.50 USD left`. */
export function amount(window: LimitsWindowEnvelope): string {
  return amountInWords(window, { count: number, dollars: (value) => `${value.toFixed(2)} USD` });
}

function resetOf(window: LimitsWindowEnvelope, nowMs: number): string {
  if (window.resets_at === null) return "";
  const left = Date.parse(window.resets_at) - nowMs;
  return left <= 0 ? "has reset" : `resets in ${durationInWords(left).replace("now", "a minute")}`;
}

function paceOf(window: LimitsWindowEnvelope, out: Pick<Output, "style">, formatInstant: FormatInstant): string {
  if (window.pace === null || window.pace.reason === "no_reset" || window.state === "unknown") return "";
  return out.style(
    window.pace.verdict === "too_early" ? "dim" : colours[toneOf(window)],
    paceInWords(paceFromJson(window.pace), formatInstant),
  );
}

function number(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 1 });
}

/** Prints spending as a table, the sums below it, and the plan's loss that it does not explain. `~`: estimated in part. */
export function printSpend(usage: UsageEnvelope, out: Output, wide = false): void {
  const header: readonly Column[] = [
    nameColumn(usage.by),
    ...counts({
      turns: undefined,
      failed: 3,
      prompt: 1,
      completion: 2,
      thinking: 5,
      credits: undefined,
      "first token": 4,
    }),
  ];
  const rows = usage.data.map((spend) => cellsOf(spend.name ?? "unknown", spend));
  printTable(header, rows.length > 1 ? [...rows, cellsOf("total", sum(usage.data))] : rows, out, wide);
  for (const use of usage.used_outside.filter(({ lost }) => lost > 0)) out.prose(outsideLine(use));
}

/** Prints what Devin used without Millrace, by its own records. False where it used nothing. */
export function printElsewhere({ by, elsewhere }: UsageEnvelope, out: Output, wide = false): boolean {
  const { data, problem } = elsewhere ?? { data: [], problem: null };
  if (problem === null && data.length === 0) return false;
  out.line();
  if (problem !== null) {
    out.prose(`What Devin used without Millrace is unknown: its records cannot be read (${problem}).`);
    return true;
  }
  const cells = (name: string, of: readonly ElsewhereEnvelope["data"][number][]) => [
    name,
    ...(["calls", "input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens"] as const).map(
      (count) => of.reduce((total, row) => total + row[count], 0).toLocaleString("en"),
    ),
  ];
  const rows = data.map((row) => cells(row.name ?? "unknown", [row]));
  out.prose("Without Millrace, by Devin's own records of its CLI and editor:");
  const header: readonly Column[] = [
    nameColumn(by),
    ...counts({ calls: 3, input: undefined, "cache read": 1, "cache written": 2, output: undefined }),
  ];
  printTable(header, rows.length > 1 ? [...rows, cells("total", data)] : rows, out, wide);
  return true;
}

/** Names of models, clients and so on. Of a project's path the end counts. */
function nameColumn(by: string): Column {
  return { title: by, narrow: 18, ...(by === "project" ? { keepsEnd: true } : {}) };
}

/** Columns of counts, by title: which leave first (the highest), undefined for one that stays. */
function counts(drops: Readonly<Record<string, number | undefined>>): readonly Column[] {
  return Object.entries(drops).map(([title, drop]) => ({
    title,
    align: "right",
    whole: true,
    ...(drop === undefined ? {} : { drop }),
  }));
}

function cellsOf(key: string, spend: SpendEnvelope): readonly string[] {
  const about = spend.estimated_tokens > 0 ? "~" : "";
  const counted = spend.unknown_turns < spend.turns;
  const tokens = (count: number) => (counted ? `${about}${count.toLocaleString("en")}` : "unknown");
  const credits = creditsOfAll([spend]);
  return [
    key,
    spend.turns.toLocaleString("en"),
    spend.failed.toLocaleString("en"),
    tokens(spend.prompt_tokens),
    tokens(spend.completion_tokens),
    tokens(spend.thinking_tokens),
    credits === undefined ? "unknown" : creditsInWords(credits),
    spend.mean_first_token_ms === null ? "-" : `${(spend.mean_first_token_ms / 1000).toFixed(1)} s`,
  ];
}

function sum(rows: readonly SpendEnvelope[]): SpendEnvelope {
  const add = (of: (spend: SpendEnvelope) => number) => rows.reduce((total, spend) => total + of(spend), 0);
  const weight = add((spend) => (spend.mean_first_token_ms === null ? 0 : spend.turns));
  const counts = Object.entries(rows[0] ?? {}).flatMap(([name, value]) =>
    typeof value === "number" ? [[name, add((spend) => Number(spend[name as keyof SpendEnvelope]))] as const] : [],
  );
  return {
    ...(Object.fromEntries(counts) as unknown as SpendEnvelope), // each count of a row, and no other number
    key: "total",
    name: "total",
    mean_first_token_ms: weight === 0 ? null : add((spend) => (spend.mean_first_token_ms ?? 0) * spend.turns) / weight,
  };
}

const bounds = { exact: "", at_most: "at most ", at_least: "at least ", unknown: "" } as const;

function outsideLine(use: UsageEnvelope["used_outside"][number]): string {
  const unit = use.unit === "percent" ? "%" : use.unit;
  const lost = `${productOfIde(use.ide)} lost ${rounded(use.lost)} ${unit} of ${use.window}`;
  if (use.used_outside === null) return `${lost}; how much of that was used outside Millrace is unknown.`;
  if (use.used_outside === 0) return use.bound === "at_least" ? `${lost}.` : `${lost}, all of it through Millrace.`;
  return `${lost}; used outside Millrace: ${bounds[use.bound]}${rounded(use.used_outside)} ${unit}.`;
}

function rounded(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 2 });
}

/** `22 Nov 14:20`, in the reader's time zone. */
export function spellInstant(atMs: number): string {
  const text = new Date(atMs).toLocaleString("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  });
  return text.replace(",", "");
}
