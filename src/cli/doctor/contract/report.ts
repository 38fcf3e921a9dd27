import type { AcpStyle } from "../../../backends/acp/known/agent-spec.ts";
import type { PromptForm } from "../../../backends/backend.ts";
import type { Output } from "../../terminal/output.ts";
import { spellLines } from "../../terminal/spell.ts";

/** One assumption and the evidence for it. */
export type CheckedAssumption = Observation & Readonly<Record<"id" | "sentence" | "source" | "certainty", string>>;

/** One product that was looked at. */
export interface ContractPart {
  /** "Devin Desktop 3.10 (formerly Windsurf)". */
  readonly product: string;
  readonly what: "language server" | "agent program" | "tools of a client";
  readonly version: string | null;
  readonly checks: readonly CheckedAssumption[];
}

/** Everything that `doctor --contract` says. Names and keys are taken out when it is written. */
export interface ContractReport {
  readonly millrace: string;
  readonly platform: string;
  readonly at: string;
  /** The parts that were examined. */
  readonly data: readonly ContractPart[];
  /** The parts that could not be examined, each with the reason. */
  readonly missing: readonly string[];
  /** Null without `--spend`. */
  readonly prompts: readonly StyleResult[] | null;
}

/** One assumption about the vendor's software: a row of docs/dev/wire/contract.json. Without a condition the observed value is `true`. */
export interface Assumption {
  /** Stable: reports are compared by it. It is also the name of the fact. */
  readonly id: string;
  readonly sentence: string;
  /** A page of docs/dev/wire and its heading. */
  readonly source: string;
  readonly certainty: string;
  readonly is?: unknown;
  readonly atLeast?: number;
  readonly matches?: string;
}

/** What was seen of one thing, as a value and in a few words; or why it could not be seen. */
export type Fact = { readonly value: unknown; readonly seen: string } | { readonly why: string };
export type Facts = Readonly<Record<string, Fact>>;

/** Compares every assumption with the evidence. */
export function checkAll(assumptions: readonly Assumption[], facts: Facts): readonly CheckedAssumption[] {
  return assumptions.map(({ id, sentence, source, certainty, ...condition }) => {
    const fact = facts[id] ?? { why: "nothing looked at it" };
    const observed = "why" in fact ? unknown(fact.why) : judged(holds(condition, fact.value), fact.seen);
    return { id, sentence, source, certainty, ...observed };
  });
}

function holds({ is = true, atLeast, matches }: Partial<Assumption>, value: unknown): boolean {
  if (atLeast !== undefined) return typeof value === "number" && value >= atLeast;
  return matches === undefined ? value === is : typeof value === "string" && new RegExp(matches).test(value);
}

/** All verdicts of a report, the prompts' included. */
export function verdictsOf({ data, prompts }: ContractReport): readonly Observation[] {
  return [...data.flatMap(({ checks }) => checks), ...(prompts ?? [])];
}

/** The same report with every text from outside through `redact`. Ids and sentences are ours, and reports are compared by them. */
export function withoutSecrets(report: ContractReport, redact: (text: string) => string): ContractReport {
  const cleanSeen = <T extends { readonly seen: string }>(one: T): T => ({ ...one, seen: redact(one.seen) });
  return {
    ...report,
    data: report.data.map(({ product, version, checks, ...part }) => ({
      ...part,
      product: redact(product),
      version: version === null ? null : redact(version),
      checks: checks.map(cleanSeen),
    })),
    missing: report.missing.map(redact),
    prompts: report.prompts?.map(cleanSeen) ?? null,
  };
}

/** `unknown`: it could not be seen here. */
type AssumptionVerdict = "ok" | "differs" | "unknown";

/** The evidence for one assumption, in a few words. Holds no secret, no name of an account and no session. */
export interface Observation {
  readonly verdict: AssumptionVerdict;
  readonly seen: string;
}

export const unknown = (seen: string): Observation => ({ verdict: "unknown", seen });

/** `ok` or `differs`, with the same words. */
export const judged = (isRight: boolean, seen: string): Observation => ({ verdict: isRight ? "ok" : "differs", seen });

type Style = Output["style"];

const colours = { ok: "green", differs: "red", unknown: "yellow" } as const;

/** The last column of a table gets this many columns of a terminal that is too narrow. */
const narrowest = 20;

/** The report as lines of at most `width` columns: a table of each product, the table of the styles, and the sums. */
export function renderContract(report: ContractReport, style: Style, width: number): readonly string[] {
  const parts = report.data.flatMap(({ product, what, version, checks }) => [
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

/** The results of one prompt. Times in ms since it was sent. */
export interface StyleResult extends Observation {
  readonly style: AcpStyle | "cascade";
  readonly form: PromptForm;
  readonly first_text_ms: number | null;
  readonly whole_ms: number | null;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
}
