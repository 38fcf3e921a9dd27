import { chooseAgent } from "../../ide/apps/choose-agent.ts";
import type { DiscoveryResult } from "../../ide/ide.ts";
import type { LimitsSnapshot } from "../../usage/limits.ts";
import type { PlanAnswer } from "../../usage/plan-answer.ts";
import { snapshotOfAnswer } from "../../usage/plan-answer.ts";

/** An app of the vendor, an agent program and a data folder as the report shows them. No key is in them. */
export interface AgentsCheck {
  readonly apps: readonly {
    readonly variant: string;
    readonly product: string;
    readonly version: string | null;
    readonly path: string;
    readonly running: boolean;
  }[];
  /** Databases that were looked at, which one was taken and why. */
  readonly data_folders: readonly { readonly file: string; readonly taken: boolean; readonly why: string }[];
  readonly agents: readonly {
    readonly product: string;
    readonly path: string;
    readonly from: "app" | "cli";
    readonly version: string | null;
    readonly signed_in: "own" | "editor" | "no";
    /** Whether prompts over ACP go to this one. */
    readonly chosen: boolean;
    readonly why: string | null;
  }[];
  /** Whether the CLI's own credentials file exists; its content is not read. */
  readonly cli_credentials: { readonly found: boolean; readonly file: string | null };
  /** Where the plan comes from. */
  readonly plans: readonly PlanSourceReport[];
}

export interface PlanSourceReport {
  readonly variant: string;
  readonly source: LimitsSnapshot["source"] | "none";
  /** ISO; of a saved plan, when the app wrote it. */
  readonly read_at: string | null;
  /** Why there is no agent. */
  readonly problem?: string;
}

/** Installed programs, their accounts, and the source of the plan. Starts nothing. */
export function checkAgents(result: DiscoveryResult, answers: readonly PlanAnswer[], nowMs: number): AgentsCheck {
  const { apps = [], agents, trace } = result;
  const chosen = chooseAgent(result);
  const credentials = trace.filter(({ rule }) => rule === "cli-credentials");
  const found = credentials.find(({ verdict }) => verdict === "kept");
  return {
    apps: apps.map(({ variant, product, version, appRoot, running }) => ({
      variant,
      product,
      version: version || null,
      path: appRoot,
      running,
    })),
    data_folders: dataFolders(trace),
    agents: agents.map((agent) => ({
      product: agent.product,
      path: agent.path,
      from: agent.from,
      version: agent.version ?? null,
      signed_in: agent.signedIn,
      chosen: agent === chosen?.agent,
      why: agent === chosen?.agent ? chosen.why : null,
    })),
    cli_credentials: { found: found !== undefined, file: (found ?? credentials[0])?.subject ?? null },
    plans: planSources(answers, nowMs),
  };
}

function dataFolders(trace: DiscoveryResult["trace"]): AgentsCheck["data_folders"] {
  const entries = trace.filter(({ stage, rule }) => stage === "credentials" && rule === "state-db");
  const byFile = Map.groupBy(
    entries.filter(({ subject }) => /[\\/]/.test(subject)),
    ({ subject }) => subject,
  );
  return [...byFile].map(([file, all]) => {
    const taken = all.find(({ verdict }) => verdict === "kept");
    return { file, taken: taken !== undefined, why: (taken ?? all[0])?.why ?? "" };
  });
}

function planSources(answers: readonly PlanAnswer[], nowMs: number): readonly PlanSourceReport[] {
  const reports = answers.map((answer) => planSource(answer, nowMs));
  const told = new Set(reports.filter(({ source }) => source !== "none").map(({ variant }) => variant));
  return reports.filter(({ source, variant }) => source !== "none" || !told.has(variant));
}

function planSource(answer: PlanAnswer, nowMs: number): PlanSourceReport {
  if (answer.type === "failed") return none(answer.ide, answer.error);
  try {
    const { source, readAtMs } = snapshotOfAnswer(answer, nowMs);
    return { variant: answer.ide, source, read_at: new Date(readAtMs).toISOString() };
  } catch (error) {
    return none(answer.ide, error);
  }
}

function none(variant: string, error: unknown): PlanSourceReport {
  return {
    variant,
    source: "none",
    read_at: null,
    problem: error instanceof Error ? error.message : "it is not known",
  };
}
