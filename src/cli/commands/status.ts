import { lookAtHosts } from "../../backends/acp/host/hosts.ts";
import type { MillraceError } from "../../base/errors.ts";
import { withFileReason } from "../../base/node/file-problem.ts";
import { type LimitsOfIde, limitsSchema } from "../../usage/envelope.ts";
import { percentLeft } from "../../usage/limits.ts";
import { durationInWords } from "../../usage/pace-words.ts";
import { hostJson, hostsFolder, spellHost } from "../agents/agent-spec.ts";
import { failureOf, newestTurns } from "../chat/pick-turn.ts";
import { setUpClients } from "../clients/installed.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { withFinder } from "../compose/compose-ide.ts";
import { spellEditor, spellTarget } from "../compose/health-details.ts";
import {
  askGateway,
  findGateway,
  type GatewayClient,
  readHealth,
  storeProblemOf,
} from "../gateway-process/gateway-client.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import { readPause } from "../gateway-process/pause-file.ts";
import { readKeys, spellTurnLimit } from "../keys/key-record.ts";
import { notedLimits } from "../limits/limits-file.ts";
import { type AccountEntry, readAccounts } from "../limits/read-accounts.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { version } from "../package-files.ts";
import { type IdeOptions, ideOptions } from "../serve/gateway-options.ts";
import { isServiceInstalled } from "../service/service-spec.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { spellAge } from "../terminal/spell.ts";
import { amount, spellInstant } from "../terminal/usage-table.ts";

/** Everything that `millrace status` knows, read at one moment. */
type Status = Awaited<ReturnType<typeof readStatus>>;

export const statusCommand = defineCommand({
  ...outlines.status,
  description:
    "Shows the gateway, the account, what is left of the plan, where prompts go, the turns, the clients that are set up, the service, and the last failure. Keys are never shown. Exits with 0 if a gateway runs, with 69 if not. `millrace doctor` checks more.",
  options: { json: flag("print JSON"), ...ideOptions },
  examples: [
    ["millrace status", "everything in eight lines"],
    ["millrace status --json", "the same for a script"],
  ],
  async run({ options }, context) {
    const { out } = context;
    const status = await readStatus(options, context);
    if (options.json) out.json(encodeStatus(status));
    else for (const line of statusLines(status, context)) out.prose(line);
    return status.gateway === undefined ? exitCodes.unavailable : exitCodes.ok;
  },
});

/** Asks the gateway, the IDEs and Millrace's own files. Starts nothing. */
export async function readStatus(options: IdeOptions, context: CommandContext) {
  const { io, settings, signal } = context;
  /** Why a line could not be read, by its title. */
  const problems = new Map<string, MillraceError>();
  /** Each line is read by itself, so that one that fails costs no other. */
  const line = async <T>(title: string, read: () => T | Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      signal.throwIfAborted();
      problems.set(title, withFileReason(error, `A file in ${settings.folder}`));
      return otherwise;
    }
  };
  const [gateway, accounts, limits] = await withFinder(io, options, (finder) =>
    Promise.all([
      line("gateway", () => readGatewayStatus(context, line), undefined),
      line("account", () => readAccounts(finder, signal), []),
      line("left", () => readLimits(context), undefined),
    ]),
  );
  await line("keys", () => void readKeys(settings.keysFile), undefined); // of other programs: they work only with this file
  return {
    atMs: io.clock.now(),
    problems,
    gateway,
    /** Null where the file does not say since when. */
    pausedSince: await line("prompts", () => readPause(settings.pauseFile)?.since, undefined),
    // As the choice of an IDE: a stand-in only where nothing real is signed in.
    accounts: accounts.toSorted(
      (a, b) => Number(b.signed_in) - Number(a.signed_in) || Number(a.stand_in) - Number(b.stand_in),
    ),
    limits,
    // Also those that a gateway which ended has left.
    agents: await line("agents", () => lookAtHosts(hostsFolder(settings.folder)), []),
    clients: await line("clients", () => setUpClients(settings.folder), []),
    hasService: await line("service", () => isServiceInstalled(context), undefined),
  };
}

/** The eight lines, and one more where something is to do. */
export function statusLines(status: Status, { out }: Pick<CommandContext, "out">): readonly string[] {
  const { gateway, accounts, agents, atMs, clients, hasService, pausedSince } = status;
  const paused = `${out.style("yellow", "PAUSED")}: no prompt is sent until \`millrace resume\``;
  const lines: Readonly<Record<string, string | null | undefined>> = {
    gateway: spellGateway(status),
    account: spellAccounts(accounts),
    left: spellLeft(status),
    prompts: pausedSince === undefined ? `go to ${spellPrompts(status)}` : paused,
    turns: gateway && spellTurns(gateway),
    blocked: gateway && spellBlocked(gateway.blocked, atMs),
    refused: gateway && spellRefused(gateway.refused),
    store: gateway?.storeProblem && spellStore(gateway.storeProblem),
    log: gateway?.logProblem,
    "new agents": gateway?.newerAgents.join("; "),
    agents: agents.map(spellHost).join(", "),
    clients: clients.length === 0 ? "none is set up: `millrace setup` does it" : `${clients.join(", ")} set up`,
    service: hasService === undefined ? "" : hasService ? "installed" : "not installed",
    "last failure": gateway && spellFailure(gateway.lastFailure, atMs),
    "to do": accounts.find(({ todo }) => todo !== null)?.todo,
  };
  const rows = Object.entries(lines).flatMap(([title, text]) => (text ? [[title, text] as const] : []));
  const unread = [...status.problems].map(([title, problem]) => [title, spellProblem(title, problem, status)] as const);
  const told = rows.map(([title, text]) => unread.find(([other]) => other === title) ?? [title, text]);
  const further = unread.filter(([title]) => !rows.some(([other]) => other === title));
  const label = (title: string) => out.style("dim", title.padEnd(13));
  return [...told, ...further].flatMap(([title, text]) =>
    text.split("\n").map((line, at) => `${label(at === 0 ? title : "")}${line}`),
  );
}

function spellProblem(title: string, { code, message, hint }: MillraceError, { problems }: Status): string {
  const whole = `${message} ${hint}`.trim();
  if (title === "gateway" && code === "unavailable") return whole; // these are words about the gateway itself
  const isTold = title !== "gateway" && problems.get("gateway")?.message === message;
  return `cannot be read${isTold ? " without the gateway" : `: ${whole}`}`;
}

function spellGateway({ gateway, atMs }: Status): string {
  if (gateway === undefined) return "does not run; `millrace serve --background` starts it";
  const { file, url } = gateway;
  if (file === undefined) return `is being stopped (${url})`;
  const { startedBy = "terminal" } = file;
  const how =
    startedBy === "terminal" ? "on a terminal" : startedBy === "command" ? "ends when it is not used" : startedBy;
  const own = version();
  const other =
    file.version === own
      ? ""
      : `; you have ${own} installed: \`millrace restart\` starts it, and running answers continue`;
  return `${file.version} serves on ${url} (process ${file.pid}, ${how}, for ${spellAge(atMs - file.startedAtMs)})${other}`;
}

function spellAccounts(accounts: readonly AccountEntry[]): string {
  const [first] = accounts;
  if (first === undefined) return "no editor and no agent program was found";
  const product = `${first.product}${first.stand_in ? ", a stand-in" : ""}`;
  if (!first.signed_in) return `no account is signed in to ${product}`;
  const plan = first.plan === null ? null : `${first.plan}${first.cascade_denied ? " (without Cascade)" : ""}`;
  const who = [first.name, plan].filter((part) => part !== null).join(", ") || "signed in";
  const others = otherAccounts(accounts);
  const more = others.length === 0 ? [] : [spellAccounts(others)];
  const refused = first.key_refused === null ? "" : `; refused: ${first.key_refused}`;
  return [`${who} in ${product}${refused}`, ...more].join("\n");
}

/** An agent that is signed in by the key of the editor says nothing new, also where nobody knows its name and plan. */
function hasAccountOf(one: AccountEntry, other: AccountEntry): boolean {
  if (one.product === other.product && one.name === null && one.plan === null) return true;
  const words = ({ name, plan, stand_in }: AccountEntry) => JSON.stringify([name, plan, stand_in]);
  return words(one) === words(other) && one.product === other.product;
}

/** The accounts that are signed in beside the first one. */
function otherAccounts([first, ...more]: readonly AccountEntry[]): readonly AccountEntry[] {
  return first === undefined ? [] : more.filter((one) => one.signed_in && !hasAccountOf(one, first));
}

/** With two accounts each plan has its IDE's name, also where one plan alone could be read: it may not be the one that prompts use. */
function spellLeft({ gateway, limits, accounts, atMs }: Status): string {
  const plans = limits?.data ?? [];
  const isOne = plans.length < 2 && otherAccounts(accounts).length === 0;
  const ofPlans = plans.flatMap((of) => {
    const spelled = spellWindows(of.windows, atMs);
    const read = gateway === undefined ? `; read ${spellAge(atMs - Date.parse(of.fetched_at))} ago` : "";
    return spelled === "" ? [] : [`${isOne ? "" : `${of.product || of.ide}: `}${spelled}${read}`];
  });
  if (ofPlans.length > 0) return ofPlans.join("\n");
  return limits?.errors[0]?.message ?? (gateway === undefined ? "not known before a gateway runs" : "not known");
}

function spellWindows(all: LimitsOfIde["windows"], atMs: number): string {
  const windows = all.filter(({ scope }) => scope !== "model");
  const parts = windows.flatMap((window) => {
    const { label, state, utilization, remaining, resets_at: reset } = window;
    if (state === "unlimited") return [`${label}: unlimited`];
    if (utilization === null && remaining === null) return [];
    const left = utilization === null ? amount(window) : `${percentLeft(utilization)} %`;
    const inMs = reset === null ? 0 : Date.parse(reset) - atMs;
    if (reset !== null && inMs <= 0) return [`${label}: has reset since it was read`];
    return [`${label}: ${left}${inMs > 60_000 ? `, resets in ${durationInWords(inMs)}` : ""}`];
  });
  return parts.join("; ");
}

/** The product alone where all is well; `millrace doctor` has the reason. */
function spellPrompts({ gateway, accounts }: Status): string {
  if (gateway === undefined) return "the IDE, once a gateway runs";
  const { backend } = gateway;
  if (backend === undefined) return "the IDE, once it is found";
  const editor = accounts.find(({ what, pid, signed_in: isIn }) => what === "editor" && pid !== null && isIn);
  return spellTarget(backend, editor && spellEditor(editor.product, editor.plan));
}

function spellTurns({ running, waiting, ended, failed, turnLimit }: GatewayStatus): string {
  if (running === undefined) return ""; // a gateway of an older version
  const limit = turnLimit === null || turnLimit.why === "alone" ? "" : `; ${spellTurnLimit(turnLimit)}`;
  return `${running} running, ${waiting} waiting, ${ended} ended since it started, ${failed} of them failed${limit}`;
}

/** Two models at most: the page has all. */
function spellBlocked(blocked: GatewayStatus["blocked"], nowMs: number): string {
  const models = blocked.slice(0, 2).map(({ model_name: name, code, until }) => {
    const atMs = Date.parse(until);
    return `${name} until ${spellInstant(atMs)} (${code}, ${durationInWords(Math.max(60_000, atMs - nowMs))} left)`;
  });
  return `${models.join("; ")}${blocked.length > 2 ? `; ${blocked.length - 2} more` : ""}`;
}

/** The newest three kinds. */
function spellRefused({ requests, by }: GatewayStatus["refused"]): string {
  if (requests === 0) return "";
  const kinds = by.slice(0, 3).map((kind) => `${kind.requests} of ${kind.client}: ${kind.code}`);
  const total = requests === 1 ? "1 request became no turn" : `${requests} requests became no turn`;
  return `${total} (${kinds.join(", ")}${by.length > 3 ? ", …" : ""})`;
}

function spellFailure(failure: GatewayStatus["lastFailure"], nowMs: number): string {
  if (failure === null) return "none of the newest turns";
  const { id, model, reason, at } = failure;
  return `${reason}, ${model}, ${spellAge(nowMs - Date.parse(at))} ago (\`millrace tail ${id.slice(-8)}\`)`;
}

function encodeStatus(status: Status): object {
  const { problems, gateway, pausedSince, limits, agents, hasService } = status;
  return {
    gateway: gateway === undefined ? null : encodeGateway(gateway, spellPrompts(status)),
    paused: pausedSince !== undefined,
    paused_since: pausedSince ?? null,
    accounts: status.accounts,
    limits: limits?.data ?? [],
    agents: agents.map(hostJson),
    clients: status.clients,
    service_installed: hasService ?? null,
    problems: [...problems].map(([line, { message, hint }]) => ({ line, message, hint })),
  };
}

function spellStore({ what, todo }: NonNullable<GatewayStatus["storeProblem"]>): string {
  return `New answers are in memory only. ${what} ${todo}`.trim();
}

/** The other members have their names in JSON. */
function encodeGateway({ file, backend, ...known }: GatewayStatus, promptsGoTo: string): object {
  return {
    ...known,
    pid: file?.pid ?? null,
    version: file?.version ?? null,
    started_by: file?.startedBy ?? "terminal",
    started_at: file === undefined ? null : new Date(file.startedAtMs).toISOString(),
    prompts_go_to: backend === undefined ? null : promptsGoTo,
  };
}

/** A gateway that has just started knows the IDE after its first look, which takes seconds at most. */
const againMs = 200;
const mostTries = 15;
const mostTurns = 50;

/** The running gateway as `millrace status` shows it. */
type GatewayStatus = NonNullable<Awaited<ReturnType<typeof readGatewayStatus>>>;

/** Undefined where no gateway runs. Counts are since its start; no `backend` while its first search runs. Waits until a gateway that just started knows the IDE. */
async function readGatewayStatus(
  context: CommandContext,
  line: <T>(title: string, read: () => Promise<T>, otherwise: T) => Promise<T>,
) {
  const { io, settings, signal } = context;
  const gateway = await findGateway(settings, signal);
  if (gateway === undefined) return undefined;
  let health = await readHealth(gateway, signal);
  for (let tries = 0; health.details?.backend === undefined && tries < mostTries; tries++) {
    await io.clock.sleep(againMs, signal);
    health = await readHealth(gateway, signal);
  }
  const backend = health.details?.backend;
  return {
    url: gateway.url,
    file: readGatewayFile(settings.gatewayFile),
    backend,
    turnLimit: health.turn_limit ?? null,
    ...health.turns,
    lastFailure: await line("last failure", () => lastFailureOf(gateway, signal), null),
    storeProblem: storeProblemOf(health) ?? null,
    logProblem: health.details?.log_problem ?? null,
    newerAgents: health.details?.newer_agents ?? [],
    refused: health.refused ?? { requests: 0, by: [] },
    blocked: health.blocked ?? [],
  };
}

/** What is left of the plans, from the gateway; without one, what the last gateway noted. An IDE that does not answer is in `errors`. */
async function readLimits({ settings, signal }: CommandContext) {
  const gateway = await findGateway(settings, signal);
  if (gateway !== undefined) return askGateway(gateway, "/v1/limits", limitsSchema, { signal });
  return { data: notedLimits(settings.folder), errors: [] };
}

/** Of the newest turns, the last one that failed. */
async function lastFailureOf(gateway: GatewayClient, signal: AbortSignal) {
  const turn = (await newestTurns(gateway, mostTurns, signal)).find(({ status }) => status === "failed");
  if (turn === undefined) return null;
  const reason = (await failureOf(turn.id, gateway, signal)) ?? "failed";
  return { id: turn.id, model: turn.model, at: turn.created_at, reason };
}
