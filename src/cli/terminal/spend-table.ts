import type { ElsewhereEnvelope, SpendEnvelope, UsageEnvelope } from "../../usage/envelope.ts";
import type { Output } from "./output.ts";
import { type Column, printTable } from "./table.ts";

/** Prints spending as a table, the sums below it, and the plan's loss that it does not explain. `~`: estimated in part. */
export function printSpend(usage: UsageEnvelope, out: Output): void {
  const header = [usage.by, "turns", "failed", "prompt", "completion", "thinking", "credits", "first token"];
  const rows = usage.data.map((spend) => cellsOf(spend.name ?? "unknown", spend));
  printTable(columnsOf(header), rows.length > 1 ? [...rows, cellsOf("total", sum(usage.data))] : rows, out, true);
  for (const use of usage.used_outside.filter(({ lost }) => lost > 0)) out.line(outsideLine(use));
}

/** Prints what Devin used without Millrace, by its own records. False where it used nothing. */
export function printElsewhere({ by, elsewhere }: UsageEnvelope, out: Output): boolean {
  const { data, own, problem } = elsewhere ?? { data: [], own: null, problem: null };
  if (own?.differs === true) out.line(differenceLine(own));
  if (problem === null && data.length === 0) return false;
  out.line();
  if (problem !== null) {
    out.line(`What Devin used without Millrace is unknown: its records cannot be read (${problem}).`);
    return true;
  }
  const cells = (name: string, of: readonly ElsewhereEnvelope["data"][number][]) => [
    name,
    ...(["calls", "input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens"] as const).map(
      (count) => of.reduce((total, row) => total + row[count], 0).toLocaleString("en"),
    ),
  ];
  const rows = data.map((row) => cells(row.name ?? "unknown", [row]));
  out.line("Without Millrace, by Devin's own records of its CLI and editor:");
  const header = [by, "calls", "input", "cache read", "cache written", "output"];
  printTable(columnsOf(header), rows.length > 1 ? [...rows, cells("total", data)] : rows, out, true);
  return true;
}

/** Where the two records of the same sessions are more than 10 % apart. */
function differenceLine({ sessions, millrace, devin }: NonNullable<ElsewhereEnvelope["own"]>): string {
  const count = (tokens: number) => tokens.toLocaleString("en");
  const cached = devin.cache_read_tokens + devin.cache_creation_tokens;
  return `In ${count(sessions)} of Millrace's sessions its count differs from Devin's own: ${count(millrace.prompt_tokens)} prompt and ${count(millrace.completion_tokens)} completion tokens, by Devin ${count(devin.input_tokens)} input, ${count(cached)} cached and ${count(devin.output_tokens)} output.`;
}

/** Names, and counts beside them. */
function columnsOf(header: readonly string[]): readonly Column[] {
  return header.map((title, at) => (at === 0 ? { title } : { title, align: "right" }));
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

/** The variants by the names that all their builds share. */
const ideNames: Readonly<Record<string, string>> = {
  devin: "Devin Desktop",
  "devin-next": "Devin Desktop Next",
  antigravity: "Antigravity",
};
const bounds = { exact: "", at_most: "at most ", at_least: "at least ", unknown: "" } as const;

function outsideLine(use: UsageEnvelope["used_outside"][number]): string {
  const unit = use.unit === "percent" ? "%" : use.unit;
  const name = ideNames[use.ide] ?? use.ide; // a newer gateway may know another one
  const lost = `${name} lost ${rounded(use.lost)} ${unit} of ${use.window}`;
  if (use.used_outside === null) return `${lost}; how much of that was used outside Millrace is unknown.`;
  if (use.used_outside === 0) return use.bound === "at_least" ? `${lost}.` : `${lost}, all of it through Millrace.`;
  return `${lost}; used outside Millrace: ${bounds[use.bound]}${rounded(use.used_outside)} ${unit}.`;
}

function rounded(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 2 });
}
