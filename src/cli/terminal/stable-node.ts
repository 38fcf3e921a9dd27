import { realpathSync } from "node:fs";
import { basename, join } from "node:path";

/** The program of Node for a file that outlives this version of it. `until`: what ends it, where no path was found that stays. */
export interface NodeProgram {
  readonly path: string;
  readonly until?: string;
}

/**
 * A path to this Node that an upgrade does not take away: Homebrew's `opt` link in place of its Cellar, the link of a version manager that
 * names no version, or a link on the PATH. Each is used only where it leads to the same program now: a shim of Volta, asdf or mise does
 * not. It chooses a Node by the folder that it is started in.
 */
export function stableNode(
  node: string,
  {
    env,
    real = realpathOrNone,
  }: {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly real?: (path: string) => string | undefined;
  },
): NodeProgram {
  const versioned = /[\\/](?:Cellar[\\/]node(?:@\d+)?[\\/]|v?)\d+\.\d+\.\d+/.exec(node);
  if (versioned === null) return { path: node };
  const cellar = /^(.*)[\\/]Cellar[\\/](node(?:@\d+)?)[\\/]/.exec(node);
  const { NVM_SYMLINK: nvmWindows, N_PREFIX: n } = env;
  const name = basename(node);
  const folders = (env["PATH"] ?? env["Path"] ?? "").split(process.platform === "win32" ? ";" : ":");
  const candidates = [
    ...(cellar === null ? [] : [join(cellar[1] ?? "", "opt", cellar[2] ?? "", "bin", name)]),
    ...aliasesOf(node),
    ...(nvmWindows === undefined ? [] : [join(nvmWindows, name)]),
    ...[n ?? "/usr/local", "/opt/homebrew", "/usr"].map((folder) => join(folder, "bin", name)),
    ...folders
      .filter((folder) => folder !== "" && !/[\\/]v?\d+\.\d+\.\d+[\\/]|fnm_multishells/.test(folder))
      .map((folder) => join(folder, name)),
  ];
  const program = real(node) ?? node;
  const stable = candidates.find((path) => real(path) === program);
  return stable === undefined ? { path: node, until: versioned[0].replace(/^[\\/]/, "") } : { path: stable };
}

/** The links beside this version that nvm, fnm and mise keep. */
function aliasesOf(node: string): readonly string[] {
  const managed = /^(.*)[\\/](versions[\\/]node|node-versions|installs[\\/]node)[\\/](v?(\d+)[^\\/]*)[\\/](.*)$/.exec(
    node,
  );
  const [, base = "", kind = "", , major = "", rest = ""] = managed ?? [];
  if (kind.startsWith("versions")) return [join(base, "current", rest)];
  if (kind === "node-versions") return [join(base, "aliases/default", rest.replace(/^installation[\\/]/, ""))];
  return managed === null ? [] : [major, "lts", "latest"].map((alias) => join(base, kind, alias, rest));
}

function realpathOrNone(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined; // not there
  }
}
