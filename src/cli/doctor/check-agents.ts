import type { AcpAgent } from "../../backends/acp/agent.ts";
import { hostless, lookAtHosts } from "../../backends/acp/host/hosts.ts";
import { agentOfModel } from "../../backends/backend.ts";
import type { OpenBackends } from "../../backends/route/route.ts";
import { deadline } from "../../base/async.ts";
import { isMillraceError } from "../../base/errors.ts";
import { chooseAgent } from "../../ide/apps/choose-agent.ts";
import type { DiscoveryResult } from "../../ide/ide.ts";
import type { Models } from "../../models/model.ts";
import { hostsFolder, spellHost } from "../agents/agent-spec.ts";
import type { ComposedAgents } from "../agents/compose-agents.ts";
import { backendInUse, spellTarget } from "../compose/health-details.ts";
import type { BackendInUse } from "../gateway-process/gateway-client.ts";
import { type Finding, finding } from "../terminal/finding.ts";
import { spellBytes, spellCount } from "../terminal/spell.ts";

/** Installed apps, and the agent programs: the chosen one gets the prompts over ACP. Starts nothing. */
export function checkInstalled(result: DiscoveryResult) {
  const chosen = chooseAgent(result);
  return {
    apps: (result.apps ?? []).map(({ variant, product, version, appRoot, running }) => ({
      variant,
      product,
      version: version || null,
      path: appRoot,
      running,
    })),
    agents: result.agents.map((agent) => ({
      product: agent.product,
      path: agent.path,
      from: agent.from,
      version: agent.version ?? null,
      signed_in: agent.signedIn,
      why: agent === chosen?.agent ? chosen.why : null,
    })),
  };
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
) {
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

/** Memory in bytes, times in ms; `version` is the agent's own text, such as "affogato 3000.11.3". */
async function checkAgent(agent: AcpAgent, signal: AbortSignal) {
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
  const { processes, agentVersion: version = null } = await agent.stats();
  const { startupMs = null, rssBytes: memory = null } = processes.at(-1) ?? {};
  const report = {
    name: agent.name,
    version,
    newer_than_tried: agent.newerThanTried !== undefined,
    startup_ms: startupMs,
    memory_bytes: memory,
    models,
  };
  if (problem !== undefined) {
    const what = `The agent ${agent.name} cannot be asked: ${problem}`;
    return { report: { ...report, problem }, finding: finding("agent", "error", what, hint ?? todo) };
  }
  const facts = [
    agent.newerThanTried ?? version ?? "no version",
    spellCount(models, "model"),
    ...(startupMs === null ? [] : [`started in ${(startupMs / 1000).toFixed(1)} s`]),
    ...(memory === null ? [] : [`${spellBytes(memory)} of memory`]),
  ];
  return { report, finding: finding("agent", "ok", `The agent ${agent.name} answers: ${facts.join(", ")}`) };
}

const todo = "Start the program by hand to see what it says, and look at its entry in config.toml.";

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

/** The agents that wait for a gateway, why there can be none, and what an agent's end leaves on this system. */
export async function checkHosts(folder: string, platform: NodeJS.Platform): Promise<readonly Finding[]> {
  const strays = platform === "linux" ? [] : [finding("agent", "note", strayPrograms)];
  const why = hostless({ folder: hostsFolder(folder) });
  if (why !== undefined)
    return [finding("agent", "note", `Agents end with the gateway, and their answers too: ${why}`), ...strays];
  const left = (await lookAtHosts(hostsFolder(folder))).filter(({ served }) => !served);
  if (left.length === 0) return strays;
  const what = `${spellCount(left.length, "agent")} of an earlier gateway ${left.length === 1 ? "waits" : "wait"} for the next one: ${left.map(spellHost).join("; ")}`;
  const todo = "Start the gateway to read their answers, or run `millrace stop --agents` to end them.";
  return [finding("agent", "note", what, todo), ...strays];
}

/** Linux alone shows the environment of a process, by which such a program is found. */
const strayPrograms =
  "A program that an agent starts and detaches from itself may go on after the agent's end: this system does not tell whose it is";
