import type { Output } from "../../terminal/output.ts";
import { spellLines } from "../../terminal/spell.ts";

/** One assumption and the evidence for it. */
export type CheckedAssumption = Observation & Readonly<Record<"id" | "sentence" | "source" | "certainty", string>>;

/** One product that was looked at. */
export interface ContractPart {
  /** "Devin Desktop 3.10 (formerly Windsurf)". */
  readonly product: string;
  readonly what: "language server" | "agent program";
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
    const about = { id, sentence, source, certainty };
    if ("why" in fact) return { ...about, verdict: "unknown", seen: fact.why };
    return { ...about, verdict: holds(condition, fact.value) ? "ok" : "differs", seen: fact.seen };
  });
}

function holds({ is = true, atLeast, matches }: Partial<Assumption>, value: unknown): boolean {
  if (atLeast !== undefined) return typeof value === "number" && value >= atLeast;
  return matches === undefined ? value === is : typeof value === "string" && new RegExp(matches).test(value);
}

/** How many assumptions of a report have this verdict. */
export function countOf(verdict: Observation["verdict"], { data }: ContractReport): number {
  return data.flatMap(({ checks }) => checks.filter((one) => one.verdict === verdict)).length;
}

/** The same report with every text from outside through `redact`. Ids and sentences are ours, and reports are compared by them. */
export function withoutSecrets(report: ContractReport, redact: (text: string) => string): ContractReport {
  return {
    ...report,
    data: report.data.map(({ product, version, checks, ...part }) => ({
      ...part,
      product: redact(product),
      version: version === null ? null : redact(version),
      checks: checks.map((one) => ({ ...one, seen: redact(one.seen) })),
    })),
    missing: report.missing.map(redact),
  };
}

/** The evidence for one assumption, in a few words. Holds no secret, no name of an account and no session. `unknown`: it could not be seen here. */
interface Observation {
  readonly verdict: "ok" | "differs" | "unknown";
  readonly seen: string;
}

const colours = { ok: "green", differs: "red", unknown: "yellow" } as const;

/** The words of a row get this many columns of a terminal that is too narrow. */
const narrowest = 20;

/** The report as lines of at most `width` columns: a row for each assumption of each product, and the sums. */
export function renderContract(report: ContractReport, style: Output["style"], width: number): readonly string[] {
  const all = report.data.flatMap(({ checks }) => checks);
  const indent = "  unknown  ".length + Math.max(0, ...all.map(({ id }) => id.length)) + 2;
  const parts = report.data.flatMap(({ product, what, version, checks }) => [
    style("bold", `${product}, ${what}${version === null ? "" : ` ${version}`}`),
    ...checks.flatMap(({ verdict, id, seen }) => {
      const row = `${verdict.padEnd(7)}  ${id.padEnd(indent - 11)}${seen}`;
      const [first = "", ...rest] = spellLines(row, Math.max(width, indent + narrowest), 2, indent);
      return [first.replace(verdict, style(colours[verdict], verdict)), ...rest];
    }),
    "",
  ]);
  const missing = report.missing.flatMap((why) => spellLines(`not looked at: ${why}`, width, 0, 2));
  const sums = (["ok", "differs", "unknown"] as const).map((verdict) => `${countOf(verdict, report)} ${verdict}`);
  return [...parts, ...missing, ...(missing.length === 0 ? [] : [""]), sums.join(", ")];
}
