import { joinPath, type StateQuestion } from "../apps/layouts.ts";
import type { DiscoverOptions } from "../discover/discover-options.ts";
import type { Host, ProcessRow, ServerEnvironment } from "../host/host.ts";
import { lastFlag, parseFlags } from "../process/command-line.ts";
import type { ServerProcess } from "../process/server-process.ts";

/** Where this server's account may be read. The editor's `--user-data-dir` stands in the arguments of the server's parent. */
export async function stateQuestion(
  { host, overrides }: DiscoverOptions,
  { row, variant }: ServerProcess,
  environment: ServerEnvironment | undefined,
  signal: AbortSignal,
): Promise<StateQuestion> {
  const homes = [...new Set([host.home, ...overrides.homes])];
  return {
    platform: host.platform,
    variant,
    environment,
    // Windows starts PowerShell for it, which takes up to a second.
    userDataDir: host.platform === "windows" ? undefined : await userDataDirOf(host, row, signal),
    ...(host.platform === "windows" ? { askUserDataDir: (asked) => userDataDirOf(host, row, asked) } : {}),
    homes,
    sandboxes: await listSandboxes(host, homes, signal),
  };
}

async function userDataDirOf(host: Host, row: ProcessRow, signal: AbortSignal): Promise<string | undefined> {
  const parent = row.parentPid === undefined ? undefined : await host.readProcess(row.parentPid, signal);
  if (parent?.owner !== "self") return undefined;
  return lastFlag(parseFlags(parent.command.args), "user-data-dir") || undefined;
}

export async function listSandboxes(
  host: Host,
  homes: readonly string[],
  signal: AbortSignal,
): Promise<StateQuestion["sandboxes"]> {
  const sandboxes = new Map<string, { readonly flatpak: readonly string[]; readonly snap: readonly string[] }>();
  if (host.platform !== "linux") return sandboxes;
  const ofInterest = (names: readonly string[]) =>
    names.filter((name) => /windsurf|devin|cognition|antigravity|codeium/i.test(name)).slice(0, 8);
  for (const home of homes) {
    const flatpak = ofInterest(await host.listFolder(joinPath(home, ".var", "app"), signal));
    const snap = ofInterest(await host.listFolder(joinPath(home, "snap"), signal));
    sandboxes.set(home, { flatpak, snap });
  }
  return sandboxes;
}
