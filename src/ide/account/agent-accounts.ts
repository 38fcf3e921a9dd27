import type { DiscoverOptions } from "../discover/discover-options.ts";
import { Trace } from "../discover/trace.ts";
import { serverEnvironment } from "../host/host.ts";
import type { AgentProgram, InstalledApp } from "../ide.ts";
import { readAccount } from "./api-key.ts";
import { credentialsFile, readCredentials } from "./cli-credentials.ts";
import { listSandboxes } from "./state-question.ts";

/** Who an agent program can ask for. */
export type AgentAccount = Pick<AgentProgram, "signedIn" | "home" | "readApiKey" | "apiServer">;

/** The accounts on this machine, read once for each variant. */
export interface Accounts {
  of(variant: InstalledApp["variant"], signal: AbortSignal): Promise<AgentAccount>;
}

/** The account, by home: the first home with the program's own credentials, else the first home whose app has a key. */
export function openAccounts(options: DiscoverOptions, homes: readonly string[], trace: Trace): Accounts {
  const known = new Map<InstalledApp["variant"], Promise<AgentAccount>>();
  let own: Promise<AgentAccount | undefined> | undefined;
  return {
    of(variant, signal) {
      own ??= ownAccount(options, homes, trace, signal);
      const found =
        known.get(variant) ?? own.then(async (account) => account ?? editorAccount(options, homes, variant, signal));
      known.set(variant, found);
      return found;
    },
  };
}

async function ownAccount(
  { host, overrides }: DiscoverOptions,
  homes: readonly string[],
  trace: Trace,
  signal: AbortSignal,
): Promise<AgentAccount | undefined> {
  for (const home of homes) {
    const file = credentialsFile(host.platform, home, variablesOf(host, home, overrides.onlyHome !== undefined));
    const read = await readCredentials(host, file, signal);
    if (read === "missing") trace.note("agents", file, "cli-credentials", "is not there");
    else if (read === "without") trace.rejected("agents", file, "cli-credentials", "holds no key");
    else {
      trace.kept("agents", file, "cli-credentials", `holds a key (${read.form})`);
      const { apiServer } = read;
      return {
        signedIn: "own",
        home,
        readApiKey: (asked) => keyIn(host, file, asked),
        ...(apiServer === undefined ? {} : { apiServer }),
      };
    }
  }
  return undefined;
}

async function keyIn(host: DiscoverOptions["host"], file: string, signal: AbortSignal) {
  const read = await readCredentials(host, file, signal);
  return typeof read === "string" ? undefined : read.key;
}

async function editorAccount(
  options: DiscoverOptions,
  homes: readonly string[],
  variant: InstalledApp["variant"],
  signal: AbortSignal,
): Promise<AgentAccount> {
  const { host } = options;
  for (const home of homes) {
    const read = (asked: AbortSignal) => accountOfApp(options, home, variant, asked);
    const { signedIn } = await read(signal);
    if (!signedIn) continue;
    return {
      signedIn: "editor",
      home,
      readApiKey: async (asked) => {
        const account = await read(asked);
        return account.signedIn ? account.apiKey : undefined;
      },
    };
  }
  return { signedIn: "no", home: homes[0] ?? host.home, readApiKey: async () => undefined };
}

/** The account in the database of a home's app, whether the app runs or not. */
export async function accountOfApp(
  { host, overrides }: DiscoverOptions,
  home: string,
  variant: InstalledApp["variant"],
  signal: AbortSignal,
) {
  const variables = variablesOf(host, home, overrides.onlyHome !== undefined);
  const question = {
    platform: host.platform,
    variant,
    environment: serverEnvironment(
      Object.entries({ ...variables, [host.platform === "windows" ? "USERPROFILE" : "HOME"]: home }).flatMap(
        ([name, value]) => (value === undefined ? [] : [[name, value] as const]),
      ),
    ),
    userDataDir: undefined,
    homes: [home],
    sandboxes: await listSandboxes(host, [home], signal),
  };
  return readAccount(host, question, new Trace(), signal); // the servers' part of the trace already lists these files
}

/** Our own variables say where data lies in our own home, and nothing of another one. */
function variablesOf(
  { home, variables }: DiscoverOptions["host"],
  of: string,
  onlyHome: boolean,
): Readonly<Record<string, string | undefined>> {
  if (of !== home || onlyHome) return {};
  const { XDG_DATA_HOME, XDG_CONFIG_HOME, APPDATA } = variables;
  return { XDG_DATA_HOME, XDG_CONFIG_HOME, APPDATA };
}
