import contract from "../../../../docs/dev/wire/contract.json" with { type: "json" };
import type { AcpAgentSpec } from "../../../backends/acp/agent.ts";
import type { AcpStyle } from "../../../backends/acp/known/agent-spec.ts";
import { lookAtAgent } from "../../../backends/acp/process/look-at-agent.ts";
import { isMillraceError } from "../../../base/errors.ts";
import type { IdeFinder } from "../../../ide/ide.ts";
import { namedVendorSpec, vendorSpec } from "../../agents/agent-spec.ts";
import { vendorProgram } from "../../agents/compose-agents.ts";
import type { CommandContext } from "../../command.ts";
import { version } from "../../package-files.ts";
import { nameWithKind, promptable } from "../../serve/servers.ts";
import type { Output } from "../../terminal/output.ts";
import { agentFacts } from "./observe-agent.ts";
import { type Facts, observeServer } from "./observe-server.ts";

/** One assumption about the vendor's software: a row of docs/dev/wire/contract.json. Without a condition the observed value is `true`. */
interface Assumption {
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

/** What Millrace assumes, as data. */
export const assumed: Readonly<Record<"server" | "agent", readonly Assumption[]>> = contract;

/** Everything that `doctor --contract` says; `missing`: what could not be examined, each with the reason. */
export type ContractReport = Awaited<ReturnType<typeof runContract>>["report"];
type Verdict = "ok" | "differs" | "unknown";

/** Compares every assumption with the evidence. */
export function checkAll(assumptions: readonly Assumption[], facts: Facts) {
  return assumptions.map(({ id, sentence, source, certainty, ...condition }) => {
    const fact = facts[id] ?? { why: "nothing looked at it" };
    const isUnknown = "why" in fact;
    const verdict: Verdict = isUnknown ? "unknown" : holds(condition, fact.value) ? "ok" : "differs";
    return { id, sentence, source, certainty, verdict, seen: isUnknown ? fact.why : fact.seen };
  });
}

function holds({ is = true, atLeast, matches }: Partial<Assumption>, value: unknown): boolean {
  if (atLeast !== undefined) return typeof value === "number" && value >= atLeast;
  return matches === undefined ? value === is : typeof value === "string" && new RegExp(matches).test(value);
}

/**
 * Compares the assumptions about the vendor's software with the software that runs here. Sends no prompt. `personal`
 * must not be in a report that leaves the machine: names and addresses of accounts, and home folders that are not the user's own.
 */
export async function runContract(
  { acpCommand }: { readonly acpCommand: readonly string[] | undefined },
  finder: IdeFinder,
  { io, settings, signal }: CommandContext,
) {
  const found = await finder.find(signal);
  const missing: string[] = [];
  const personal = found.agents.map(({ home }) => home).filter((home) => home !== io.homeFolder);
  const data: {
    readonly product: string;
    readonly what: string;
    readonly version: string | null;
    readonly checks: ReturnType<typeof checkAll>;
  }[] = [];
  const ides = promptable(found);
  for (const ide of ides) {
    const { facts, names } = await observeServer(finder, ide, signal);
    personal.push(...names);
    const checks = checkAll(assumed.server, facts);
    data.push({ product: nameWithKind(ide), what: "language server", version: ide.build || null, checks });
  }
  if (ides.length === 0) missing.push("No language server was found.");
  const left = found.ides.filter((ide) => ide.standIn === true && !ides.includes(ide)).length;
  if (left > 0)
    missing.push(`Stand-ins are left out beside a real IDE: ${left}. To look at one, name its process with \`--pid\`.`);
  const ofAgent = async (spec: AcpAgentSpec, product: string, version: string | null) => {
    const look = (style: AcpStyle) => lookAtAgent(spec, { style, clock: io.clock }, signal);
    const facts = agentFacts(await look("ask"), await look("summarizer"));
    data.push({ product, what: "agent program", version, checks: checkAll(assumed.agent, facts) });
  };
  const parts = { io, folder: settings.folder };
  if (acpCommand !== undefined)
    await ofAgent(namedVendorSpec(acpCommand, parts), "The agent program of the settings", null);
  else {
    try {
      const program = vendorProgram(found); // the one that prompts would go to
      await ofAgent(vendorSpec(program, parts), nameWithKind(program), program.version ?? null);
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      missing.push(`${error.message} ${error.hint}`);
    }
  }
  const at = new Date(io.clock.now()).toISOString();
  return { report: { millrace: version(), platform: io.platform, at, data, missing }, personal };
}

/** How many assumptions of a report have this verdict. */
export function countOf(verdict: Verdict, { data }: ContractReport): number {
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

const colours = { ok: "green", differs: "red", unknown: "yellow" } as const;

/** Prints a row for each assumption of each product, and the sums. */
export function printContract(report: ContractReport, out: Output): void {
  for (const { product, what, version, checks } of report.data) {
    out.line(out.style("bold", `${product}, ${what}${version === null ? "" : ` ${version}`}`));
    for (const { verdict, id, seen } of checks)
      out.prose(`  ${out.style(colours[verdict], verdict.padEnd(7))}  ${id}: ${seen}`);
    out.line();
  }
  for (const why of report.missing) out.prose(`not looked at: ${why}`);
  if (report.missing.length > 0) out.line();
  out.line((["ok", "differs", "unknown"] as const).map((each) => `${countOf(each, report)} ${each}`).join(", "));
}
