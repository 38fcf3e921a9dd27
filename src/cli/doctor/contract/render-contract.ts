import type { Output } from "../../terminal/output.ts";
import type { Verdict } from "./assumption.ts";
import { type ContractReport, verdictsOf } from "./report.ts";

type Style = Output["style"];

const colours = { ok: "green", differs: "red", unknown: "yellow" } as const;

/** The report as lines: a table of each product, the table of the styles, and the sums. */
export function renderContract(report: ContractReport, style: Style): readonly string[] {
  const parts = report.parts.flatMap(({ product, what, version, checks }) => [
    style("bold", `${product}, ${what}${version === null ? "" : ` ${version}`}`),
    ...table(checks.map(({ verdict, id, seen }) => [mark(verdict), id, seen])).map((line, index) =>
      coloured(line, checks[index]?.verdict ?? "unknown", style),
    ),
    "",
  ]);
  const missing = report.missing.map((why) => `${style("yellow", "not looked at")}: ${why}`);
  return [...parts, ...missing, ...(missing.length === 0 ? [] : [""]), ...prompts(report, style), sums(report)];
}

function prompts({ prompts: results }: ContractReport, style: Style): readonly string[] {
  if (results === null) return [];
  const head = ["", "FORM", "STYLE", "FIRST", "WHOLE", "IN", "OUT", "SEEN"];
  const rows = results.map((one) => [
    mark(one.verdict),
    one.form,
    one.style,
    milliseconds(one.first_text_ms),
    milliseconds(one.whole_ms),
    String(one.prompt_tokens ?? "none"),
    String(one.completion_tokens ?? "none"),
    one.seen,
  ]);
  const [first = "", ...lines] = table([head, ...rows]);
  return [
    style("bold", "Prompts: time to the first text and to the end, tokens in and out"),
    style("dim", first),
    ...lines.map((line, index) => coloured(line, results[index]?.verdict ?? "unknown", style)),
    "",
  ];
}

function sums(report: ContractReport): string {
  const counts = Map.groupBy(verdictsOf(report), ({ verdict }) => verdict);
  const count = (verdict: Verdict) => counts.get(verdict)?.length ?? 0;
  return `${count("ok")} ok, ${count("differs")} differ, ${count("unknown")} unknown`;
}

const mark = (verdict: Verdict): string => verdict;

function milliseconds(ms: number | null): string {
  return ms === null ? "none" : `${ms} ms`;
}

/** The mark is the first word of a row. */
function coloured(line: string, verdict: Verdict, style: Style): string {
  return line.replace(verdict, style(colours[verdict], verdict));
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd());
}
