import { type Accounts, accountOfApp, openAccounts } from "../account/agent-accounts.ts";
import type { DiscoverOptions } from "../discover/discover-options.ts";
import type { Trace } from "../discover/trace.ts";
import { mapBounded } from "../host/bounded.ts";
import type { AgentProgram, InstalledApp } from "../ide.ts";
import { type AppPlaces, findApps } from "./installed-apps.ts";
import { joinPath } from "./layouts.ts";

/** The apps and agents that were found beside the running servers. */
export interface FoundAgents {
  readonly apps: readonly InstalledApp[];
  /** The `state.vscdb` in which an account is signed in to this variant's app, without a running server to ask. */
  readonly stateFileOf: (variant: InstalledApp["variant"], signal: AbortSignal) => Promise<string | undefined>;
  /** In order of preference. */
  readonly agents: readonly AgentProgram[];
}

const width = 8;
const maxPathFolders = 64;

/** A program worth a look, with its known facts. */
interface Candidate {
  readonly path: string;
  readonly app: InstalledApp | undefined;
}

/**
 * The agent program of each installed app and the vendor's CLI. Nothing is run: files say what they are. A program
 * counts only if this user may run it and no other user could have put it there. `running` holds the paths of this
 * user's programs that belong to an app. Source: docs/dev/wire/devin-desktop.md, "The agent program".
 */
export async function findAgents(
  options: DiscoverOptions,
  running: readonly string[],
  trace: Trace,
  signal: AbortSignal,
): Promise<FoundAgents> {
  const { host, overrides } = options;
  const homes = overrides.onlyHome === undefined ? [...new Set([host.home, ...overrides.homes])] : [overrides.onlyHome];
  const places: AppPlaces = {
    platform: host.platform,
    homes,
    onlyHomes: overrides.onlyHome !== undefined,
    variables: host.variables,
  };
  const apps = await findApps(host, places, running, signal);
  for (const { appRoot, product, running: runs } of apps)
    trace.note("agents", appRoot, "app", `${product}, ${runs ? "runs" : "does not run"}`);
  const wanted = apps.filter(({ variant }) => overrides.variant === undefined || overrides.variant === variant);
  const candidates = [
    ...wanted.flatMap((app) => agentPaths(host.platform, app.appRoot).map((path) => ({ path, app }))),
    ...(overrides.variant === undefined || overrides.variant === "windsurf" ? cliPaths(places) : []).map((path) => ({
      path,
      app: undefined,
    })),
  ];
  const accounts = openAccounts(options, homes, trace);
  const checked = await mapBounded(candidates, width, (candidate) => checkProgram(options, candidate, signal));
  const agents: AgentProgram[] = [];
  const taken = new Set<string>();
  for (const found of checked) {
    if (found === undefined) continue;
    const { path, realPath, problem } = found;
    if (taken.has(realPath)) continue;
    taken.add(realPath);
    if (problem !== undefined) {
      trace.rejected("agents", path, "program", problem);
      continue;
    }
    const agent = await describeAgent(options, found, accounts, signal);
    trace.kept("agents", path, "program", `${agent.product}: ${signInWords[agent.signedIn]}`);
    agents.push(agent);
  }
  const stateFileOf: FoundAgents["stateFileOf"] = async (variant, asked) => {
    for (const home of homes) {
      const account = await accountOfApp(options, home, variant, asked);
      if (account.signedIn) return account.file;
    }
    return undefined;
  };
  return { apps, stateFileOf, agents: agents.toSorted((a, b) => rank(a, wanted) - rank(b, wanted)) };
}

const standInFile = "millrace-stand-in";

const signInWords: Readonly<Record<AgentProgram["signedIn"], string>> = {
  own: "signed in by its own credentials",
  editor: "has no credentials of its own; the app's database holds a key",
  no: "no account is signed in",
};

/** An agent that can ask before one that cannot, the stable product before Next, the app's before the CLI, a running app's first. */
function rank(agent: AgentProgram, apps: readonly InstalledApp[]): number {
  const signedIn = { own: 0, editor: 1, no: 2 }[agent.signedIn];
  const runs = apps.some(({ running, appRoot }) => running && agent.path.startsWith(appRoot));
  return signedIn * 8 + (agent.variant === "windsurf" ? 0 : 4) + (agent.from === "app" ? 0 : 2) + (runs ? 0 : 1);
}

function agentPaths(platform: DiscoverOptions["host"]["platform"], appRoot: string): readonly string[] {
  const folder = joinPath(appRoot, "extensions", "windsurf", "devin", "bin");
  return namesOf(platform).map((name) => joinPath(folder, name));
}

function namesOf(platform: DiscoverOptions["host"]["platform"]): readonly string[] {
  return platform === "windows" ? ["devin.exe", "devin"] : ["devin"];
}

/** Where the CLI may be: on the PATH, and where its installers put it. */
function cliPaths({ platform, homes, onlyHomes, variables }: AppPlaces): readonly string[] {
  const separator = platform === "windows" ? ";" : ":";
  const isAbsolute = (folder: string) => /^(?:\/|[A-Za-z]:[\\/]|\\\\)/.test(folder);
  const below = (folder: string) =>
    homes.some((home) => folder.startsWith(`${home}/`) || folder.startsWith(`${home}\\`));
  const onPath = (variables["PATH"] ?? variables["Path"] ?? "")
    .split(separator)
    .filter((folder) => isAbsolute(folder) && (!onlyHomes || below(folder)))
    .slice(0, maxPathFolders);
  const usual = homes.flatMap((home) => [
    joinPath(home, ".local", "bin"),
    joinPath(home, ".devin", "bin"),
    ...(platform === "windows" ? [joinPath(home, "AppData", "Local", "devin", "bin")] : []),
  ]);
  const system = onlyHomes || platform === "windows" ? [] : ["/usr/local/bin", "/opt/homebrew/bin"];
  const folders = [...new Set([...onPath, ...usual, ...system].map((folder) => folder.replace(/(?<=.)[\\/]+$/, "")))];
  return folders.flatMap((folder) => namesOf(platform).map((name) => joinPath(folder, name)));
}

interface CheckedFile {
  readonly candidate: Candidate;
  readonly path: string;
  readonly realPath: string;
  /** Why it is not used. */
  readonly problem: string | undefined;
}

/** Undefined when nothing is there, and for the app's own window program, which bears the same name on some systems. */
async function checkProgram(
  { host }: DiscoverOptions,
  candidate: Candidate,
  signal: AbortSignal,
): Promise<CheckedFile | undefined> {
  const { path, app } = candidate;
  const facts = await host.fileFacts(path, signal);
  if (facts === undefined) return undefined;
  const { realPath } = facts;
  if (app === undefined && (await isWindowProgram(host, realPath, signal))) return undefined;
  const problem =
    facts.kind !== "file"
      ? "is not a program file"
      : facts.executable
        ? facts.risk === undefined
          ? undefined
          : `${facts.risk}, so it is not started`
        : "is not executable by this user";
  return { candidate, path, realPath, problem };
}

async function isWindowProgram(host: DiscoverOptions["host"], path: string, signal: AbortSignal): Promise<boolean> {
  if (/\.app[\\/]Contents[\\/]MacOS[\\/]/i.test(path)) return true;
  const folder = /^(.+)[\\/][^\\/]+$/.exec(path)?.[1] ?? "";
  return (await host.fileFacts(joinPath(folder, "resources", "app", "product.json"), signal)) !== undefined;
}

async function describeAgent(
  options: DiscoverOptions,
  { candidate: { app }, path, realPath }: CheckedFile,
  accounts: Accounts,
  signal: AbortSignal,
): Promise<AgentProgram> {
  const variant = app?.variant ?? "windsurf";
  const account = await accounts.of(variant, signal);
  const version = app === undefined ? await cliVersion(options, realPath, signal) : app.version || undefined;
  const isStandIn = app === undefined ? await isMarked(options, path, signal) : app.standIn === true;
  return {
    variant,
    product: app?.product ?? (version === undefined ? "Devin CLI" : `Devin CLI ${version}`),
    path,
    from: app === undefined ? "cli" : "app",
    version,
    ...(isStandIn ? { standIn: true } : {}),
    ...account,
  };
}

/** Whether a stand-in's file lies beside a CLI; see docs/dev/simulator.md. */
async function isMarked({ host }: DiscoverOptions, path: string, signal: AbortSignal): Promise<boolean> {
  return (await host.fileFacts(path.replace(/[^\\/]+$/, standInFile), signal)) !== undefined;
}

/** The version in the path that an installer's link leads to, else that of the package around the program. */
async function cliVersion(
  { host }: DiscoverOptions,
  realPath: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const inPath = /[\\/]v?(\d{1,6}\.\d{1,6}\.\d{1,6})[\\/]/.exec(realPath)?.[1];
  if (inPath !== undefined) return inPath;
  const folder = /^(.+)[\\/]bin[\\/][^\\/]+$/.exec(realPath)?.[1];
  const text =
    folder === undefined ? undefined : await host.readText(joinPath(folder, "package.json"), 64 * 1024, signal);
  return /"version"\s*:\s*"(\d[\w.+-]{0,40})"/.exec(text ?? "")?.[1];
}
