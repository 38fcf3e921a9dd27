import { randomUUID } from "node:crypto";
import contract from "../../../../docs/dev/wire/contract.json" with { type: "json" };
import { type AcpAgent, type AcpAgentSpec, openAcpAgent } from "../../../backends/acp/agent.ts";
import type { AcpStyle } from "../../../backends/acp/known/agent-spec.ts";
import { lookAtAgent } from "../../../backends/acp/process/look-at-agent.ts";
import type { Backend } from "../../../backends/backend.ts";
import { cascadeBackend } from "../../../backends/cascade/backend.ts";
import { PollPacer } from "../../../backends/cascade/poll-pacer.ts";
import { defaultPace } from "../../../backends/cascade/poll-schedule.ts";
import { backendOf } from "../../../backends/route/way.ts";
import { deadline } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { isMillraceError, MillraceError } from "../../../base/errors.ts";
import type { Ide, IdeFinder } from "../../../ide/ide.ts";
import { isWithoutCascade } from "../../../language-server/product-name.ts";
import { agentIdOf } from "../../../models/agent-models.ts";
import { createCatalogue } from "../../../models/catalogue.ts";
import { namedVendorSpec, type SpecParts, vendorSpec } from "../../agents/agent-spec.ts";
import { vendorProgram } from "../../agents/compose-agents.ts";
import type { CommandContext } from "../../command.ts";
import { openOwnJournal } from "../../compose/own-cascades.ts";
import { version } from "../../package-files.ts";
import { nameWithKind, promptable } from "../../serve/servers.ts";
import { agentFacts } from "./observe-agent.ts";
import { observeServer } from "./observe-server.ts";
import { type AskedWay, askOnce, type PromptCase, useTools } from "./prompts.ts";
import { type Assumption, type ContractPart, type ContractReport, checkAll, type StyleResult } from "./report.ts";

/** What Millrace assumes, as data. */
export const assumed: {
  readonly server: readonly Assumption[];
  readonly agent: readonly Assumption[];
  readonly tools: readonly Assumption[];
  readonly prompts: readonly PromptCase[];
  readonly loop: Pick<PromptCase, "question" | "tool">;
} = { ...contract, prompts: contract.prompts as readonly PromptCase[] }; // a case has one form of demand

interface ContractOptions {
  readonly acpCommand: readonly string[] | undefined;
  readonly spend: boolean;
  /** The agent's own id of a model, for the prompts of `spend`. */
  readonly model: string | undefined;
}

/**
 * Compares the assumptions about the vendor's software with the software that runs here. Sends a prompt only with `spend`. `personal`
 * must not be in a report that leaves the machine: names and addresses of accounts, and home folders that are not the user's own.
 */
export async function runContract(options: ContractOptions, finder: IdeFinder, context: CommandContext) {
  const { io, signal } = context;
  const found = await finder.find(signal);
  const missing: string[] = [];
  const personal = found.agents.map(({ home }) => home).filter((home) => home !== io.homeFolder);
  const parts: ContractPart[] = [];
  const ides = promptable(found);
  for (const ide of ides) parts.push(await ofServer(finder, ide, personal, signal));
  if (ides.length === 0) missing.push("No language server was found.");
  const left = found.ides.filter((ide) => ide.standIn === true && !ides.includes(ide)).length;
  if (left > 0)
    missing.push(`Stand-ins are left out beside a real IDE: ${left}. To look at one, name its process with \`--pid\`.`);
  const agent = await programOf(options, finder, context, missing);
  if (agent !== undefined) parts.push(await ofAgent(agent, context));
  const spent = options.spend ? await spend({ agent, ides, model: options.model }, finder, context) : undefined;
  if (spent?.tools !== undefined) parts.push(spent.tools);
  const prompts = spent?.prompts ?? null;
  const at = new Date(io.clock.now()).toISOString();
  const report: ContractReport = { millrace: version(), platform: io.platform, at, data: parts, missing, prompts };
  return { report, personal };
}

async function ofServer(finder: IdeFinder, ide: Ide, personal: string[], signal: AbortSignal): Promise<ContractPart> {
  const { facts, names } = await observeServer(finder, ide, signal);
  personal.push(...names);
  const version = ide.build || null;
  return { product: nameWithKind(ide), what: "language server", version, checks: checkAll(assumed.server, facts) };
}

interface Program {
  readonly product: string;
  readonly version: string | null;
  readonly spec: AcpAgentSpec;
}

/** The agent program that prompts would go to. */
async function programOf(
  { acpCommand }: ContractOptions,
  finder: IdeFinder,
  { io, settings, signal }: CommandContext,
  missing: string[],
): Promise<Program | undefined> {
  const parts: SpecParts = { io, folder: settings.folder };
  const command = acpCommand;
  if (command !== undefined) {
    return { product: "The agent program of the settings", version: null, spec: namedVendorSpec(command, parts) };
  }
  try {
    const program = vendorProgram(await finder.find(signal));
    return { product: nameWithKind(program), version: program.version ?? null, spec: vendorSpec(program, parts) };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    missing.push(`${error.message} ${error.hint}`);
    return undefined;
  }
}

async function ofAgent({ product, version: said, spec }: Program, context: CommandContext): Promise<ContractPart> {
  const { io, signal } = context;
  const names = [spec.clientName ?? "millrace", "windsurf"];
  const look = (style: AcpStyle) => lookAtAgent(spec, { style, names, clock: io.clock }, signal);
  const facts = agentFacts(await look("ask"), await look("summarizer"));
  return { product, what: "agent program", version: said, checks: checkAll(assumed.agent, facts) };
}

/**
 * Asks the agent in both styles and for a loop of calls, and Cascade if a server has it. Notes each conversation, so that
 * `doctor --conversations` finds it after a kill. Undefined if there is neither an agent nor a server.
 */
async function spend(
  {
    agent,
    ides,
    model,
  }: { readonly agent: Program | undefined; readonly ides: readonly Ide[]; readonly model: string | undefined },
  finder: IdeFinder,
  { io, out, settings, signal }: CommandContext,
): Promise<{ readonly prompts: readonly StyleResult[]; readonly tools: ContractPart | undefined } | undefined> {
  const { clock } = io;
  const journal = openOwnJournal(settings);
  const owner = randomUUID();
  const noted = (backend: Backend, name?: string) =>
    backendOf({ backend, agent: name, journal: { ...journal, owner, clock } });
  const agents: readonly { readonly style: AcpStyle; readonly agent: AcpAgent }[] =
    agent === undefined
      ? []
      : (["ask", "summarizer"] as const).map((style) => {
          const styles = { text: style, tools: style, json: style };
          return { style, agent: openAcpAgent({ ...agent.spec, styles }, { clock, tools: "prose" }) };
        });
  const caller = agent && openAcpAgent(agent.spec, { clock, tools: "native" });
  try {
    const [first] = agents;
    const id = first === undefined || model === undefined ? undefined : await idOf(first.agent, model, signal);
    const ways: AskedWay[] = agents.map((one) => ({
      style: one.style,
      backend: noted(one.agent.backend, one.agent.name),
      model: id,
    }));
    for (const ide of ides) {
      const cascade = await cascadeToAsk({ finder, clock }, ide, model, signal);
      if (cascade !== undefined) ways.push({ ...cascade, backend: noted(cascade.backend) });
    }
    if (ways.length === 0) return undefined;
    const loops = caller === undefined ? 0 : 1;
    out.note(`Sending ${assumed.prompts.length * ways.length + loops} prompts; this uses some of your plan.`);
    const prompts: StyleResult[] = [];
    for (const way of ways) for (const one of assumed.prompts) prompts.push(await askOnce(way, one, clock, signal));
    if (agent === undefined || caller === undefined) return { prompts, tools: undefined };
    const way = { backend: noted(caller.backend, caller.name), model: id, clock };
    const checks = checkAll(assumed.tools, await useTools(caller, assumed.loop, way, signal));
    const { product, version } = agent;
    return { prompts, tools: { product, what: "tools of a client", version, checks } };
  } finally {
    await Promise.all([...agents.map((one) => one.agent.close()), caller?.close()]);
  }
}

/** The agent's id of a model, by that id or by the name that requests use. Throws `unknown_model` before a prompt is sent. */
async function idOf(agent: AcpAgent, model: string, signal: AbortSignal): Promise<string> {
  const listed = await agent.models(signal);
  const id = listed.some((one) => one.id === model) ? model : agentIdOf(model, listed, createCatalogue());
  if (id !== undefined) return id;
  throw new MillraceError("unknown_model", `The agent has no model "${model}".`, {
    hint: "Leave --model out, or name one that `millrace models` lists.",
  });
}

const callLimitMs = 20_000;

/**
 * Undefined for a build without Cascade: its prompts go to the agent. Sends no prompt.
 *
 * @throws `unknown_model` for a model that the account does not have; the errors of connecting.
 */
async function cascadeToAsk(
  { finder, clock }: { readonly finder: IdeFinder; readonly clock: Clock },
  ide: Ide,
  wanted: string | undefined,
  signal: AbortSignal,
): Promise<AskedWay | undefined> {
  if (ide.build === "" || isWithoutCascade(ide.build)) return undefined;
  const limited = deadline(signal, callLimitMs);
  const server = await finder.connect(ide, limited);
  const capabilities = await server.capabilities(limited);
  if (!capabilities.cascade) return undefined;
  const { cascadeModelConfigData: listed } = await server.getUserStatus(limited);
  const usable = (listed?.clientModelConfigs ?? []).filter(({ disabled, modelUid }) => !disabled && modelUid !== "");
  const [cheapest] = usable.toSorted((a, b) => a.creditMultiplier - b.creditMultiplier);
  const chosen = wanted === undefined ? cheapest : usable.find(({ modelUid }) => modelUid === wanted);
  if (chosen === undefined) {
    if (wanted === undefined) return undefined;
    throw new MillraceError("unknown_model", `The account has no model "${wanted}" for Cascade.`, {
      hint: "Leave --model out, or name the uid of a model.",
    });
  }
  const source = { find: (again: AbortSignal) => finder.connect(ide, again), forget: () => {} };
  const settings = {
    clock,
    pace: defaultPace,
    pacer: new PollPacer(clock),
    silenceMs: 120_000,
    acceptGraceMs: 3_000,
    ideTools: "read" as const,
  };
  return { style: "cascade", backend: cascadeBackend(source, server, capabilities, settings), model: chosen.modelUid };
}
