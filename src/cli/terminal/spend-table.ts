import type { ElsewhereEnvelope, SpendEnvelope, UsageEnvelope } from "../../usage/envelope.ts";
import { displayWidth, padEndTo, padStartTo } from "./display-width.ts";
import type { Output } from "./output.ts";

/** Spending as a table, the sums below it, and the plan's loss that it does not explain. `~`: estimated in part. */
export function spendTable(usage: UsageEnvelope, out: Pick<Output, "style">): readonly string[] {
  const header = [usage.by, "turns", "failed", "prompt", "completion", "thinking", "credits", "first token"];
  const rows = usage.data.map((spend) => cellsOf(spend.name ?? "unknown", spend));
  const total = cellsOf("total", sum(usage.data));
  return [
    ...table(header, rows, rows.length > 1 ? total : undefined, out),
    ...usage.used_outside.filter(({ lost }) => lost > 0).map(outsideLine),
  ];
}

/** What Devin used without Millrace, by its own records. */
export function elsewhereTable(usage: UsageEnvelope, out: Pick<Output, "style">): readonly string[] {
  const { data, problem } = usage.elsewhere ?? { data: [], problem: null };
  if (problem !== null)
    return [`What Devin used without Millrace is unknown: its records cannot be read (${problem}).`];
  if (data.length === 0) return [];
  const cells = (name: string, of: readonly ElsewhereEnvelope["data"][number][]) => [
    name,
    ...(["calls", "input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens"] as const).map(
      (count) => of.reduce((total, row) => total + row[count], 0).toLocaleString("en"),
    ),
  ];
  const header = [usage.by, "calls", "input", "cache read", "cache written", "output"];
  const rows = data.map((row) => cells(row.name ?? "unknown", [row]));
  return [
    "Without Millrace, by Devin's own records of its CLI and editor:",
    ...table(header, rows, rows.length > 1 ? cells("total", data) : undefined, out),
  ];
}

function table(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  total: readonly string[] | undefined,
  out: Pick<Output, "style">,
): readonly string[] {
  const widths = header.map((name, column) =>
    Math.max(displayWidth(name), ...[...rows, total ?? []].map((row) => displayWidth(row[column] ?? ""))),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === 0 ? padEndTo(cell, widths[0] ?? 0) : padStartTo(cell, widths[column] ?? 0)))
      .join("  ")
      .trimEnd();
  return [
    out.style("bold", line(header)),
    ...rows.map(line),
    ...(total === undefined ? [] : [out.style("bold", line(total))]),
  ];
}

function cellsOf(key: string, spend: SpendEnvelope): readonly string[] {
  const about = spend.estimated_tokens > 0 ? "~" : "";
  const counted = spend.unknown_turns < spend.turns;
  const tokens = (count: number) => (counted ? `${about}${count.toLocaleString("en")}` : "unknown");
  const credits = spend.credits.toLocaleString("en", { maximumFractionDigits: 2 });
  return [
    key,
    spend.turns.toLocaleString("en"),
    spend.failed.toLocaleString("en"),
    tokens(spend.prompt_tokens),
    tokens(spend.completion_tokens),
    tokens(spend.thinking_tokens),
    spend.credits_known_turns === 0 ? "unknown" : spend.credits_known_turns < spend.turns ? `≥${credits}` : credits,
    spend.mean_first_token_ms === null ? "-" : `${(spend.mean_first_token_ms / 1000).toFixed(1)} s`,
  ];
}

function sum(rows: readonly SpendEnvelope[]): SpendEnvelope {
  const add = (of: (spend: SpendEnvelope) => number) => rows.reduce((total, spend) => total + of(spend), 0);
  const timed = rows.filter((spend) => spend.mean_first_token_ms !== null);
  const weight = timed.reduce((total, spend) => total + spend.turns, 0);
  return {
    key: "total",
    name: "total",
    turns: add((s) => s.turns),
    finished: add((s) => s.finished),
    failed: add((s) => s.failed),
    cancelled: add((s) => s.cancelled),
    prompt_tokens: add((s) => s.prompt_tokens),
    completion_tokens: add((s) => s.completion_tokens),
    thinking_tokens: add((s) => s.thinking_tokens),
    cached_prompt_tokens: add((s) => s.cached_prompt_tokens),
    estimated_turns: add((s) => s.estimated_turns),
    estimated_tokens: add((s) => s.estimated_tokens),
    unknown_turns: add((s) => s.unknown_turns),
    credits: add((s) => s.credits),
    credits_known_turns: add((s) => s.credits_known_turns),
    duration_ms: add((s) => s.duration_ms),
    mean_first_token_ms:
      weight === 0 ? null : add((s) => (s.mean_first_token_ms === null ? 0 : s.mean_first_token_ms * s.turns)) / weight,
  };
}

/** The variants by the names that all their builds share. */
const ideNames: Readonly<Record<string, string>> = {
  windsurf: "Devin Desktop (Windsurf)",
  "windsurf-next": "Devin Desktop Next (Windsurf Next)",
  antigravity: "Antigravity",
};
const bounds = { exact: "", at_most: "at most ", at_least: "at least ", unknown: "" } as const;

function outsideLine(use: UsageEnvelope["used_outside"][number]): string {
  const unit = use.unit === "percent" ? "%" : use.unit;
  const name = ideNames[use.ide] ?? use.ide; // a newer gateway may know another one
  const lost = `${name} lost ${rounded(use.lost)} ${unit} of ${use.window}`;
  if (use.used_outside === null) return `${lost}; how much of that was used outside Millrace is unknown.`;
  return `${lost}; used outside Millrace: ${bounds[use.bound]}${rounded(use.used_outside)} ${unit}.`;
}

function rounded(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 2 });
}
