import type { StyleResult } from "./ask-styles.ts";
import type { Assumption, AssumptionVerdict, Observation } from "./assumption.ts";

/** One assumption and the evidence for it. */
export interface CheckedAssumption {
  readonly id: string;
  readonly sentence: string;
  readonly source: string;
  readonly certainty: string;
  readonly verdict: AssumptionVerdict;
  readonly seen: string;
}

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
  readonly parts: readonly ContractPart[];
  /** The parts that could not be examined, each with the reason. */
  readonly missing: readonly string[];
  /** Null without `--spend`. */
  readonly prompts: readonly StyleResult[] | null;
}

/** Compares every assumption with the evidence. */
export function checkAll<S>(assumptions: readonly Assumption<S>[], seen: S): readonly CheckedAssumption[] {
  return assumptions.map((assumption) => {
    const { id, sentence, source, certainty } = assumption;
    return { id, sentence, source, certainty, ...assumption.check(seen) };
  });
}

/** All verdicts of a report, the prompts' included. */
export function verdictsOf({ parts, prompts }: ContractReport): readonly Observation[] {
  return [...parts.flatMap(({ checks }) => checks), ...(prompts ?? [])];
}

/** The same report with every text from outside through `redact`. Ids and sentences are ours, and reports are compared by them. */
export function withoutSecrets(report: ContractReport, redact: (text: string) => string): ContractReport {
  const cleanSeen = <T extends { readonly seen: string }>(one: T): T => ({ ...one, seen: redact(one.seen) });
  return {
    ...report,
    parts: report.parts.map(({ product, version, checks, ...part }) => ({
      ...part,
      product: redact(product),
      version: version === null ? null : redact(version),
      checks: checks.map(cleanSeen),
    })),
    missing: report.missing.map(redact),
    prompts: report.prompts?.map(cleanSeen) ?? null,
  };
}
