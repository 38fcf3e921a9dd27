import type { LimitsEnvelope, LimitsOfIde, LimitsWindowEnvelope } from "../../usage/envelope.ts";
import { durationInWords, type FormatInstant, paceFromJson, paceInWords } from "../../usage/pace-words.ts";
import { displayWidth, padEndTo, padStartTo, wrapLine } from "./display-width.ts";
import type { Output } from "./output.ts";

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
  const wide = rowsWith(wideBar);
  if (!out.isTerminal) return rowLines(wide, (head, { reset, pace }) => [spread(head, reset, pace)]);
  const narrow = rowsWith(Math.max(1, Math.min(narrowBar, out.columns - 6)));
  const layouts = [
    () => rowLines(wide, (head, { reset, pace }) => [spread(head, reset, pace)]),
    () => rowLines(wide, (head, { reset, pace }, below) => withLine(`${head}  ${reset}`.trimEnd(), below, [pace])),
    () => rowLines(narrow, (head, { reset, pace }, below) => withLine(head, below, [reset, pace])),
  ];
  for (const layout of layouts) {
    const lines = layout();
    if (lines.every((line) => displayWidth(line) <= out.columns)) return lines;
  }
  return narrow.flatMap(stacked);
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

/** The text of one window, styled for the terminal. */
interface Row {
  readonly label: string;
  /** With the blanks after it; empty off a terminal. */
  readonly bar: string;
  readonly amount: string;
  readonly reset: string;
  readonly pace: string;
}

function rowOf(window: LimitsWindowEnvelope, cells: number, out: Screen, { nowMs, formatInstant }: TableOptions): Row {
  return {
    label: window.label,
    bar: out.isTerminal ? `${barOf(window, cells, out)}  ` : "",
    amount: amount(window),
    reset: resetOf(window, nowMs),
    pace: paceOf(window, out, formatInstant),
  };
}

/** The parts of a window one below the other, for a terminal that is too narrow for rows. */
function stacked({ label, bar, amount: used, reset, pace }: Row): readonly string[] {
  const [lead, next] = ["  ", "    "];
  const drawn = bar.trim() === "" ? "" : bar;
  return [`${lead}${label}`, `${next}${drawn}${used}`, ...withLine("", next, [reset, pace]).slice(1)];
}

/** A line, and below it those of the parts that say anything. */
function withLine(head: string, indent: string, parts: readonly string[]): readonly string[] {
  const more = parts.filter((part) => part !== "").join(" · ");
  return more === "" ? [head] : [head, `${indent}${more}`];
}

function heading(of: LimitsOfIde, out: Pick<Output, "style">, nowMs: number): string {
  const age = durationInWords(nowMs - Date.parse(of.fetched_at));
  const when = age === "now" ? "read just now" : `read ${age} ago`;
  const read = of.source === "saved_plan" ? `saved plan, ${when.replace("read", "written")}` : when;
  const parts = [of.plan_name, of.stale && age !== "now" ? `${read}, may have changed since` : read].filter(
    (part) => part !== null,
  );
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
  return out.style(colourOf(window), bar);
}

function colourOf(window: LimitsWindowEnvelope): "green" | "yellow" | "red" {
  const verdict = window.pace?.verdict;
  if (verdict === "exhausted" || window.utilization === 1) return "red";
  if (verdict === "runs_out") return (window.utilization ?? 0) >= 0.8 ? "red" : "yellow";
  return verdict === "tight" || (window.utilization ?? 0) >= 0.9 ? "yellow" : "green";
}

function amount(window: LimitsWindowEnvelope): string {
  if (window.state === "unknown") return "unknown";
  if (window.kind === "balance") {
    const left = window.remaining ?? 0;
    return `${Math.abs(left).toFixed(2)} ${window.unit.toUpperCase()} ${left < 0 ? "owed" : "left"}`;
  }
  if (window.state === "unlimited") return `${number(window.used ?? 0)} ${window.unit} used, unlimited`;
  if (window.unit === "percent") return `${number(window.used ?? 0)} % used`;
  if (window.limit === null) return `${number(window.remaining ?? 0)} ${window.unit} left`;
  return `${number(window.used ?? 0)} of ${number(window.limit ?? 0)} ${window.unit} used`;
}

function resetOf(window: LimitsWindowEnvelope, nowMs: number): string {
  if (window.resets_at === null) return "";
  const left = Date.parse(window.resets_at) - nowMs;
  return left <= 0 ? "has reset" : `resets in ${durationInWords(left).replace("now", "a minute")}`;
}

function paceOf(window: LimitsWindowEnvelope, out: Pick<Output, "style">, formatInstant: FormatInstant): string {
  if (window.pace === null || window.pace.reason === "no_reset" || window.state === "unknown") return "";
  return out.style(
    window.pace.verdict === "too_early" ? "dim" : colourOf(window),
    paceInWords(paceFromJson(window.pace), formatInstant),
  );
}

function number(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 1 });
}
