import type { Output } from "../../terminal/output.ts";
import { spellLines } from "../spell.ts";
import type { AssumptionVerdict } from "./assumption.ts";
import { type ContractReport, verdictsOf } from "./report.ts";

type Style = Output["style"];

const colours = { ok: "green", differs: "red", unknown: "yellow" } as const;

/** The last column of a table gets this many columns of a terminal that is too narrow. */
const narrowest = 20;

/** The report as lines of at most `width` columns: a table of each product, the table of the styles, and the sums. */
export function renderContract(report: ContractReport, style: Style, width: number): readonly string[] {
  const parts = report.parts.flatMap(({ product, what, version, checks }) => [
    style("bold", `${product}, ${what}${version === null ? "" : ` ${version}`}`),
    ...table(
      checks.map(({ verdict, id, seen }) => [verdict, id, seen]),
      width,
    ).flatMap((lines, index) => coloured(lines, checks[index]?.verdict ?? "unknown", style)),
    "",
  ]);
  const missing = report.missing.flatMap((why) => {
    const [first = "", ...rest] = spellLines(`not looked at: ${why}`, width, 0, 2);
    return [first.replace("not looked at", style("yellow", "not looked at")), ...rest];
  });
  return [...parts, ...missing, ...(missing.length === 0 ? [] : [""]), ...prompts(report, style, width), sums(report)];
}

function prompts({ prompts: results }: ContractReport, style: Style, width: number): readonly string[] {
  if (results === null) return [];
  const head = ["", "FORM", "STYLE", "FIRST", "WHOLE", "IN", "OUT", "SEEN"];
  const rows = results.map((one) => [
    one.verdict,
    one.form,
    one.style,
    milliseconds(one.first_text_ms),
    milliseconds(one.whole_ms),
    String(one.prompt_tokens ?? "none"),
    String(one.completion_tokens ?? "none"),
    one.seen,
  ]);
  const [first = [], ...lines] = table([head, ...rows], width);
  return [
    style("bold", "Prompts: time to the first text and to the end, tokens in and out"),
    ...first.map((line) => style("dim", line)),
    ...lines.flatMap((row, index) => coloured(row, results[index]?.verdict ?? "unknown", style)),
    "",
  ];
}

function sums(report: ContractReport): string {
  const counts = Map.groupBy(verdictsOf(report), ({ verdict }) => verdict);
  const count = (verdict: AssumptionVerdict) => counts.get(verdict)?.length ?? 0;
  return `${count("ok")} ok, ${count("differs")} differ, ${count("unknown")} unknown`;
}

function milliseconds(ms: number | null): string {
  return ms === null ? "none" : `${ms} ms`;
}

/** The mark is the first word of a row. */
function coloured(
  [first = "", ...rest]: readonly string[],
  verdict: AssumptionVerdict,
  style: Style,
): readonly string[] {
  return [first.replace(verdict, style(colours[verdict], verdict)), ...rest];
}

/** Each row as its lines: its last cell continues below itself. */
function table(rows: readonly (readonly string[])[], width: number): readonly (readonly string[])[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) => {
    const before = `  ${row
      .slice(0, -1)
      .map((cell, column) => `${cell.padEnd(widths[column] ?? 0)}  `)
      .join("")}`;
    const room = Math.max(width, before.length + narrowest);
    const [first = "", ...rest] = spellLines(row.at(-1) ?? "", room, before.length, before.length);
    return [before + first.trimStart(), ...rest];
  });
}
