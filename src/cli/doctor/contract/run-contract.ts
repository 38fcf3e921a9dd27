import contract from "../../../../docs/dev/wire/contract.json" with { type: "json" };
import type { AcpAgentSpec } from "../../../backends/acp/agent.ts";
import type { AcpStyle } from "../../../backends/acp/known/agent-spec.ts";
import { lookAtAgent } from "../../../backends/acp/process/look-at-agent.ts";
import { isMillraceError } from "../../../base/errors.ts";
import type { Ide, IdeFinder } from "../../../ide/ide.ts";
import { namedVendorSpec, type SpecParts, vendorSpec } from "../../agents/agent-spec.ts";
import { vendorProgram } from "../../agents/compose-agents.ts";
import type { CommandContext } from "../../command.ts";
import { version } from "../../package-files.ts";
import { nameWithKind, promptable } from "../../serve/servers.ts";
import { agentFacts } from "./observe-agent.ts";
import { observeServer } from "./observe-server.ts";
import { type Assumption, type ContractPart, type ContractReport, checkAll } from "./report.ts";

/** What Millrace assumes, as data. */
export const assumed: Readonly<Record<"server" | "agent", readonly Assumption[]>> = contract;

interface ContractOptions {
  readonly acpCommand: readonly string[] | undefined;
}

/**
 * Compares the assumptions about the vendor's software with the software that runs here. Sends no prompt. `personal`
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
  const at = new Date(io.clock.now()).toISOString();
  const report: ContractReport = { millrace: version(), platform: io.platform, at, data: parts, missing };
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
