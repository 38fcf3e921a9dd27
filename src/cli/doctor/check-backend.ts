import type { AcpAgent } from "../../backends/acp/process/agent.ts";
import { agentOfModel } from "../../backends/agent-backend.ts";
import type { OpenBackends } from "../../backends/open-backend.ts";
import { deadline } from "../../base/async.ts";
import { isMillraceError } from "../../base/errors.ts";
import type { Models } from "../../models/model.ts";
import type { ComposedAgents } from "../agents/compose-agents.ts";
import { type BackendInUse, backendInUse, spellTarget } from "../gateway-process/health-details.ts";
import { type Finding, finding } from "./finding.ts";
import { spellBytes } from "./spell.ts";

/** An agent that was started to look at it. Memory in bytes, times in ms. */
export interface StartedAgent {
  readonly name: string;
  /** The agent's own version text: "affogato 3000.11.3". */
  readonly version: string | null;
  readonly startup_ms: number | null;
  readonly memory_bytes: number | null;
  readonly models: number;
  /** Why it could not be asked. */
  readonly problem?: string;
}

export interface BackendCheck {
  /** Where prompts without an agent's name go, and why. */
  readonly backend: BackendInUse;
  readonly agents: readonly StartedAgent[];
  readonly findings: readonly Finding[];
}

const askLimitMs = 30_000;

/**
 * Reports where prompts go and why. Starts each agent that would be asked, to measure its start and its memory. A session is opened
 * for the list of models; no prompt is sent. `editor`: the editor that is asked where no agent is, with its plan.
 */
export async function checkBackend(
  backends: Pick<OpenBackends, "chosen">,
  agents: Pick<ComposedAgents, "all" | "vendor">,
  { models, editor }: { readonly models: Pick<Models, "list">; readonly editor: string | undefined },
  signal: AbortSignal,
): Promise<BackendCheck> {
  const backend = await backendInUse(backends, signal);
  const { kind, beside } = backend;
  const vendor = kind === "acp" || beside !== undefined ? [(await agents.vendor(signal)).agent] : [];
  const checked = await Promise.all([...vendor, ...agents.all].map((agent) => checkAgent(agent, signal)));
  const moreModels = beside === undefined ? [] : [await ofModelsBeside(beside, models, signal)];
  return {
    backend,
    agents: checked.map(({ report }) => report),
    findings: [...ofBackend(backend, editor), ...moreModels, ...checked.map(({ finding }) => finding)],
  };
}

/** The models that go to the agent although other prompts go to the language server. */
async function ofModelsBeside(product: string, models: Pick<Models, "list">, signal: AbortSignal): Promise<Finding> {
  const ok = (what: string) => finding("agent", "ok", what);
  try {
    const listed = await models.list({ refresh: true }, signal);
    const only = listed.filter(({ uid, backend }) => backend === "acp" && agentOfModel(uid) === undefined);
    if (only.length === 0) return ok(`${product} offers no model that the language server lacks`);
    const names = only.map(({ name }) => name);
    const shown =
      names.length <= 8 ? names.join(", ") : `${names.slice(0, 8).join(", ")}, and ${names.length - 8} more`;
    return ok(`Prompts to models that only ${product} offers go to it, over ACP: ${shown}`);
  } catch (error) {
    if (signal.aborted || !isMillraceError(error)) throw error;
    return ok(`Prompts to models that only ${product} offers go to it, over ACP`);
  }
}

async function checkAgent(
  agent: AcpAgent,
  signal: AbortSignal,
): Promise<{ readonly report: StartedAgent; readonly finding: Finding }> {
  let models = 0;
  let problem: string | undefined;
  let hint: string | undefined;
  try {
    models = (await agent.models(deadline(signal, askLimitMs))).length;
  } catch (error) {
    signal.throwIfAborted();
    if (isMillraceError(error)) ({ message: problem, hint } = error);
    else problem = "It did not answer in time.";
  }
  const { processes, agentVersion } = await agent.stats();
  const newest = processes.at(-1);
  const report: StartedAgent = {
    name: agent.name,
    version: agentVersion ?? null,
    startup_ms: newest?.startupMs ?? null,
    memory_bytes: newest?.rssBytes ?? null,
    models,
    ...(problem === undefined ? {} : { problem }),
  };
  const verdict: Finding =
    problem === undefined
      ? finding("agent", "ok", `The agent ${agent.name} answers: ${describe(report)}`)
      : finding("agent", "error", `The agent ${agent.name} cannot be asked: ${problem}`, hint ?? todo);
  return { report, finding: verdict };
}

const todo = "Start the program by hand to see what it says, and look at its entry in config.toml.";

function describe({ version, startup_ms: startupMs, memory_bytes: memory, models }: StartedAgent): string {
  const parts = [
    version ?? "no version",
    `${models} ${models === 1 ? "model" : "models"}`,
    ...(startupMs === null ? [] : [`started in ${(startupMs / 1000).toFixed(1)} s`]),
    ...(memory === null ? [] : [`${spellBytes(memory)} of memory`]),
  ];
  return parts.join(", ");
}

/** Where nothing can be asked, the checks of the IDEs say why; an agent may say more. */
function ofBackend(backend: BackendInUse, editor: string | undefined): readonly Finding[] {
  const { kind, why, hint } = backend;
  if (kind === "none") return [finding("agent", "error", why, hint)];
  return [finding("agent", "ok", `Prompts go to ${spellTarget(backend, editor)}: ${why}`)];
}

/** Findings of the IDEs once prompts go to an agent: that no language server can be asked is then only worth a note. */
export function besideAgent(findings: readonly Finding[], { kind }: BackendInUse): readonly Finding[] {
  if (kind !== "acp") return findings;
  return findings.map((finding) => {
    if ((finding.area !== "ide" && finding.area !== "account") || finding.level !== "error") return finding;
    const { todo: _needless, ...rest } = finding;
    return { ...rest, level: "note" };
  });
}
