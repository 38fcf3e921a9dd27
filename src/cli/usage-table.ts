import type { LimitsEnvelope, LimitsOfIde, LimitsWindowEnvelope, PaceEnvelope } from "../usage/envelope.ts";
import type { Pace } from "../usage/pace.ts";
import { durationInWords, type FormatInstant, paceInWords } from "../usage/pace-words.ts";
import type { Output } from "./output.ts";

/** Products as people call them. */
export const ideNames: Readonly<Record<LimitsOfIde["ide"], string>> = {
  windsurf: "Windsurf",
  "windsurf-next": "Windsurf Next",
  antigravity: "Antigravity",
};

/** Below this width the words about the pace move to a line of their own; below the narrow one the reset does too. */
const wideColumns = 96;

/** The limits of every IDE as lines: name, bar with the even-pace tick (on a terminal), what is used, reset, pace. */
export function limitsTable(
  limits: LimitsEnvelope,
  out: Pick<Output, "style" | "isTerminal" | "columns">,
  options: { readonly models: boolean; readonly nowMs: number; readonly formatInstant: FormatInstant },
): readonly string[] {
  const lines: string[] = [];
  for (const of of limits.data) {
    if (lines.length > 0) lines.push("");
    lines.push(heading(of, out, options.nowMs));
    const windows = of.windows.filter((window) => options.models || window.scope !== "model");
    if (windows.length === 0) lines.push("  The IDE told nothing of the plan's limits: unknown.");
    const width = Math.max(0, ...windows.map((window) => window.label.length));
    const amounts = windows.map((window) => amount(window));
    const amountWidth = Math.max(0, ...amounts.map((text) => text.length));
    for (const [index, window] of windows.entries()) {
      const bar = out.isTerminal ? `${barOf(window, out)}  ` : "";
      const head = `  ${window.label.padEnd(width)}  ${bar}${(amounts[index] ?? "").padStart(amountWidth)}`;
      const [reset, pace] = [resetOf(window, options.nowMs), paceOf(window, out, options.formatInstant)];
      const isNarrow = out.isTerminal && out.columns < wideColumns;
      const below = `  ${" ".repeat(width)}  `;
      if (out.isTerminal && out.columns < narrowColumns) {
        const more = [reset, pace].filter((part) => part !== "").join(" · ");
        lines.push(head, ...(more === "" ? [] : [`${below}${more}`]));
      } else if (isNarrow && pace !== "") lines.push(`${head}  ${reset}`.trimEnd(), `${below}${pace}`);
      else lines.push(`${head}  ${reset.padEnd(24)}  ${pace}`.trimEnd());
    }
  }
  return lines;
}

function heading(of: LimitsOfIde, out: Pick<Output, "style">, nowMs: number): string {
  const age = durationInWords(nowMs - Date.parse(of.fetched_at));
  const read = age === "now" ? "read just now" : `read ${age} ago`;
  const parts = [of.plan_name, of.stale ? `${read}, stale` : read].filter((part) => part !== null);
  return `${out.style("bold", ideNames[of.ide])} ${of.build}${of.build === "" ? "" : "  "}${out.style("dim", parts.join(" · "))}`;
}

/** Cells of a bar; fewer where the line would be broken otherwise. */
const wideBar = 20;
const narrowBar = 10;
const narrowColumns = 72;

/** Filled as far as the limit is used; `│` stands where an even pace would be now. */
function barOf(window: LimitsWindowEnvelope, out: Pick<Output, "style" | "columns">): string {
  const cells = out.columns < narrowColumns ? narrowBar : wideBar;
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
  if (window.kind === "balance") return `${(window.remaining ?? 0).toFixed(2)} ${window.unit.toUpperCase()} left`;
  if (window.state === "unlimited") return `${number(window.used ?? 0)} ${window.unit} used, unlimited`;
  if (window.unit === "percent") return `${number(window.used ?? 0)} % used`;
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
    paceInWords(decoded(window.pace), formatInstant),
  );
}

function decoded(pace: PaceEnvelope): Pick<Pace, "verdict" | "projectedFraction" | "runsOutAtMs" | "why"> {
  return {
    verdict: pace.verdict,
    projectedFraction: pace.projected ?? undefined,
    runsOutAtMs: pace.runs_out_at === null ? undefined : Date.parse(pace.runs_out_at),
    why: pace.reason ?? undefined,
  };
}

function number(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 1 });
}
