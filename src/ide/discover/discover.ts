import { ideName } from "../../base/ide-name.ts";
import { patientDeadline } from "../../base/node/patient-deadline.ts";
import { ideVariants } from "../../language-server/transport/endpoint.ts";
import { type FoundAgents, findAgents } from "../apps/find-agents.ts";
import { looksLikeApp } from "../apps/installed-apps.ts";
import { comparablePath, isOfHome } from "../apps/layouts.ts";
import { mapBounded } from "../host/bounded.ts";
import type { Host, ProcessRow } from "../host/host.ts";
import type { AgentProgram, Ide } from "../ide.ts";
import { classify, looksLikeServer } from "../process/classify.ts";
import { examineServer, isAskedFor } from "../process/examine.ts";
import { examineOverride } from "../process/examine-override.ts";
import { extraTimeFor } from "../process/probe-ports.ts";
import { readTokenFile } from "../process/token-file.ts";
import { checkOwner } from "../process/verify-holder.ts";
import type { DiscoverOptions, ExamineOptions } from "./discover-options.ts";
import { Trace } from "./trace.ts";

const maxCandidates = 32;
const width = 4;
const serverLimitMs = 8_000;
const allLimitMs = 15_000;
/** The same where nothing else answers: an IDE is as slow as its machine. */
const lastServerLimitMs = 25_000;
const lastAllLimitMs = 30_000;

/** The result of one pass over the machine. */
export interface Discovery extends FoundAgents {
  readonly ides: readonly Ide[];
  readonly trace: Trace;
}

/**
 * One pass over the machine: candidates, classify, credentials, ports, probe. Every decision is in the trace, in the
 * order of those stages for each candidate, newest candidate first; then the apps and agent programs that are installed.
 * An endpoint and a token file set by hand leave all but that one server out.
 *
 * @throws MillraceError `invalid_request` for an override that makes no sense; the signal's reason.
 */
export async function discover(options: DiscoverOptions, signal: AbortSignal): Promise<Discovery> {
  const trace = new Trace();
  const { host, overrides } = options;
  const given = overrides.tokenFile === undefined ? undefined : await readTokenFile(host, overrides.tokenFile, signal);
  const { endpoint } = overrides;
  if (endpoint !== undefined && given !== undefined) {
    const ide = await examineOverride(options, { endpoint, given }, trace, signal);
    return { ides: ide === undefined ? [] : [ide], apps: [], agents: [], stateFileOf: async () => undefined, trace };
  }
  const { servers, programs } = await listCandidates(host, trace, signal);
  const installed = new Trace();
  const [first, found] = await Promise.all([
    examineAll({ ...options, given }, servers, signal),
    ownPrograms(options, programs, signal).then((running) => findAgents(options, running, installed, signal)),
  ]);
  const results = found.agents.some(({ signedIn }) => signedIn !== "no")
    ? first
    : await lookLonger({ ...options, given }, first, signal);
  for (const { own } of results) trace.add(own);
  trace.add(installed);
  const ides = results.map(({ ide }) => ide).filter((ide) => ide !== undefined);
  const agents = withoutStandIns(ofNamedIde(options, found.agents, ides, trace), ides, trace);
  if (ides.length === 0) await explainSurroundings(host, trace, signal);
  return {
    ...found,
    agents,
    ides: ides.toSorted((a, b) => ideVariants.indexOf(a.variant) - ideVariants.indexOf(b.variant) || newestFirst(a, b)),
    trace,
  };
}

/** Where the user named an IDE by its process: the agents of its variant; once it has ended, only that of the same app. */
function ofNamedIde(
  { overrides: { pid }, named }: DiscoverOptions,
  agents: readonly AgentProgram[],
  [running]: readonly Ide[],
  trace: Trace,
): readonly AgentProgram[] {
  if (pid === undefined) return agents;
  const ide = running ?? named;
  const isOfIde = ({ variant, standIn, product }: AgentProgram) =>
    variant === ide?.variant && standIn === ide.standIn && (running !== undefined || product === ide.product);
  for (const { path } of agents.filter((agent) => !isOfIde(agent)))
    trace.rejected("agents", path, "pid", `only the IDE with pid ${pid} was asked for`);
  return agents.filter(isOfIde);
}

/** The agents of stand-ins count only where neither a real IDE runs nor a real agent is installed. */
function withoutStandIns(agents: readonly AgentProgram[], ides: readonly Ide[], trace: Trace): readonly AgentProgram[] {
  const isReal = ({ standIn }: Pick<Ide | AgentProgram, "standIn">) => standIn !== true;
  if (!agents.some(isReal) && !ides.some((ide) => ide.variant !== "antigravity" && isReal(ide))) return agents;
  for (const { path } of agents.filter((agent) => !isReal(agent)))
    trace.rejected("agents", path, "stand-in", "belongs to a stand-in, and something real is here");
  return agents.filter(isReal);
}

/** The paths of this user's programs that may belong to an app; with one home asked for, of processes of that home. */
async function ownPrograms(
  { host, overrides }: DiscoverOptions,
  rows: readonly ProcessRow[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const row of rows.filter((one) => checkOwner(one).ok).slice(0, maxCandidates)) {
    const { program } = row.command;
    if (paths.includes(program)) continue;
    const place = (path: string) => comparablePath(path, host.platform);
    const isAsked = overrides.onlyHome !== undefined && place(program).startsWith(place(overrides.onlyHome));
    if (isAsked || (await mayBeOfHome({ host, overrides }, row, signal))) paths.push(program);
  }
  return paths;
}

/** Whether a process belongs to the one home asked for; without such a home every process may. */
async function mayBeOfHome(
  { host, overrides }: Pick<DiscoverOptions, "host" | "overrides">,
  row: ProcessRow,
  signal: AbortSignal,
): Promise<boolean> {
  if (overrides.onlyHome === undefined) return true;
  const environment = await host.readEnvironment(row, signal);
  return isOfHome(overrides.onlyHome, host.platform, environment.ok ? environment.value : undefined);
}

interface Examination {
  readonly row: ProcessRow;
  readonly own: Trace;
  readonly ide: Ide | undefined;
}

/**
 * Where no IDE for prompts was found, and servers were silent: these are asked again, and waited for as long as any. One that stays silent
 * even then is not waited for again.
 */
async function lookLonger(
  options: ExamineOptions,
  examined: readonly Examination[],
  signal: AbortSignal,
): Promise<readonly Examination[]> {
  const { hopeless = new Set() } = options;
  const idOf = ({ pid, startedAtMs }: ProcessRow) => `${pid}:${startedAtMs ?? 0}`;
  if (examined.some(({ ide }) => ide !== undefined && ide.variant !== "antigravity")) return examined;
  const silent = examined.filter(
    ({ row, own }) => !hopeless.has(idOf(row)) && own.entries.some(({ rule }) => rule === "timeout" || rule === "time"),
  );
  if (silent.length === 0) return examined;
  const rows = silent.map(({ row }) => row);
  const again = await examineAll({ ...options, isLast: true }, rows, signal);
  for (const { row, ide } of again) if (ide === undefined) hopeless.add(idOf(row));
  return examined.map((each) => again.find(({ row }) => row === each.row) ?? each);
}

/** Each candidate has a time limit, and all together have another, so that silent decoys cannot hide the IDE. */
async function examineAll(
  options: ExamineOptions,
  rows: readonly ProcessRow[],
  outer: AbortSignal,
): Promise<readonly Examination[]> {
  const [serverMs, allMs] = options.isLast === true ? [lastServerLimitMs, lastAllLimitMs] : [serverLimitMs, allLimitMs];
  const all = patientDeadline(outer, allMs);
  return mapBounded(rows, width, async (row) => {
    const own = new Trace();
    const slow = [...options.lastGood].find(([id]) => id.endsWith(`:${row.pid}:${row.startedAtMs ?? 0}`));
    const limited = patientDeadline(all, serverMs + (slow === undefined ? 0 : extraTimeFor(slow[1].tookMs)));
    try {
      return { row, own, ide: await examine(options, row, own, limited) };
    } catch (error) {
      if (outer.aborted || !limited.aborted) throw error;
      own.rejected("probe", `pid ${row.pid}`, "time", "answers slowly: not in the time it was given");
      return { row, own, ide: undefined };
    }
  });
}

/** Processes that may be servers, and those whose program may belong to an app; the newest first. */
interface Candidates {
  readonly servers: readonly ProcessRow[];
  readonly programs: readonly ProcessRow[];
}

async function listCandidates(host: Host, trace: Trace, signal: AbortSignal): Promise<Candidates> {
  const list = await host.listProcesses((command) => looksLikeServer(command) || looksLikeApp(command), signal);
  if (!list.ok) {
    trace.rejected("candidates", "process list", "processes", list.why);
    return { servers: [], programs: [] };
  }
  const { processes, looked, source } = list.value;
  const newest = processes.toSorted(newestFirst);
  const servers = newest.filter(({ command }) => looksLikeServer(command));
  trace.note("candidates", source, "processes", `${looked} processes looked at, ${servers.length} worth a closer look`);
  if (servers.length > maxCandidates) {
    trace.note("candidates", source, "bound", `only the ${maxCandidates} newest of ${servers.length} are examined`);
  }
  const programs = newest.filter(({ command }) => looksLikeApp(command) || classify(command).kind === "server");
  return { servers: servers.slice(0, maxCandidates), programs };
}

async function examine(
  options: ExamineOptions,
  row: ProcessRow,
  trace: Trace,
  signal: AbortSignal,
): Promise<Ide | undefined> {
  const subject = `pid ${row.pid}`;
  const owner = checkOwner(row);
  const kind = classify(row.command);
  if (kind.kind === "other") {
    trace.rejected("classify", subject, kind.rule, row.zombie && !owner.ok ? owner.why : kind.why);
    return undefined;
  }
  if (!owner.ok && !row.zombie && !(await mayBeOfHome(options, row, signal))) {
    trace.rejected("classify", subject, "home", `${owner.why}, and does not say that its home is the one asked for`);
    return undefined;
  }
  if (!owner.ok) {
    trace.rejected("classify", subject, row.zombie ? "ended" : "owner", `${ideName(kind.variant)}: ${owner.why}`);
    return undefined;
  }
  // If a home is given, it is checked first: IDEs of other homes are not looked at.
  if (options.overrides.onlyHome === undefined && !isAskedFor(options.overrides, subject, kind.variant, trace))
    return undefined;
  trace.kept("classify", subject, kind.rule, ideName(kind.variant));
  return examineServer(options, { row, variant: kind.variant, flags: kind.flags }, trace, signal);
}

/** Called when nothing was found: names the possible causes on this machine. */
async function explainSurroundings(host: Host, trace: Trace, signal: AbortSignal): Promise<void> {
  for (const surrounding of await host.surroundings(signal))
    trace.note("candidates", "this system", surrounding, explanations[surrounding]);
}

const override = "set MILLRACE_IDE_ENDPOINT and MILLRACE_IDE_TOKEN_FILE";
const explanations = {
  wsl: `this is Linux inside Windows (WSL), and the server of an IDE whose window runs in Windows is there. If yours does, run Millrace in Windows, or ${override}`,
  container: `this is a container, and an IDE that runs outside of it is not seen from here. If yours does, run Millrace outside, or ${override}`,
  flatpak: `this is a Flatpak sandbox, and programs outside of it are not seen from here. Run Millrace outside, or ${override}`,
} as const;

function newestFirst(
  a: { readonly startedAtMs: number | undefined; readonly pid: number | undefined },
  b: { readonly startedAtMs: number | undefined; readonly pid: number | undefined },
): number {
  return (b.startedAtMs ?? 0) - (a.startedAtMs ?? 0) || (b.pid ?? 0) - (a.pid ?? 0);
}
