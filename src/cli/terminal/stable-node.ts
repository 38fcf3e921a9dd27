import { realpathSync } from "node:fs";
import { basename, join } from "node:path";

/** The program of Node for a file that outlives this version of it. `until`: what ends it, where no path was found that stays. */
export interface NodeProgram {
  readonly path: string;
  readonly until?: string;
}

/**
 * A path to this Node that an upgrade does not take away: Homebrew's `opt` link in place of its Cellar, the link of a version manager that
 * names no version, or a link on the PATH. Each is used only where it leads to the same program now.
 */
export function stableNode(
  node: string,
  {
    env,
    home,
    real = realpathOrNone,
  }: {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly home: string;
    readonly real?: (path: string) => string | undefined;
  },
): NodeProgram {
  const versioned = /[\\/](?:Cellar[\\/]node(?:@\d+)?[\\/]|v?)\d+\.\d+\.\d+/.exec(node);
  if (versioned === null) return { path: node };
  const cellar = /^(.*)[\\/]Cellar[\\/](node(?:@\d+)?)[\\/]/.exec(node);
  const {
    NVM_DIR: nvm,
    NVM_SYMLINK: nvmWindows,
    VOLTA_HOME: volta,
    FNM_DIR: fnm,
    N_PREFIX: n,
    ASDF_DATA_DIR: asdf,
  } = env;
  const name = basename(node);
  const folders = (env["PATH"] ?? env["Path"] ?? "").split(process.platform === "win32" ? ";" : ":");
  const candidates = [
    ...(cellar === null ? [] : [join(cellar[1] ?? "", "opt", cellar[2] ?? "", "bin", name)]),
    join(nvm ?? join(home, ".nvm"), "current", "bin", name),
    ...(nvmWindows === undefined ? [] : [join(nvmWindows, name)]),
    join(fnm ?? join(home, ".local/share/fnm"), "aliases", "default", "bin", name),
    ...[volta ?? join(home, ".volta"), n ?? "/usr/local", "/opt/homebrew", "/usr"].map((folder) =>
      join(folder, "bin", name),
    ),
    join(asdf ?? join(home, ".asdf"), "shims", name),
    ...folders
      .filter((folder) => folder !== "" && !/[\\/]v?\d+\.\d+\.\d+[\\/]|fnm_multishells/.test(folder))
      .map((folder) => join(folder, name)),
  ];
  const program = real(node) ?? node;
  const stable = candidates.find((path) => real(path) === program);
  return stable === undefined ? { path: node, until: versioned[0].replace(/^[\\/]/, "") } : { path: stable };
}

function realpathOrNone(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined; // not there
  }
}
