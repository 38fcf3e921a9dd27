import module from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Io } from "./terminal/output.ts";

/**
 * Lets Node keep its compiled code of Millrace, so that the next start compiles nothing. Does nothing if the folder cannot be written,
 * if NODE_COMPILE_CACHE names another one, or on a runtime without such a cache.
 */
export function keepCompiled({ env, platform }: Pick<Io, "env" | "platform">): void {
  const enable: typeof module.enableCompileCache | undefined = module.enableCompileCache; // Bun has none
  enable?.(join(cacheFolder(env, platform, homedir()), "millrace", "compiled"));
}

/**
 * This user's folder for data that can be made again. The common temporary folder is open to other users. A path that depends on the
 * current folder does not count. Source: XDG Base Directory Specification.
 */
export function cacheFolder(env: Io["env"], platform: NodeJS.Platform, homeFolder: string): string {
  if (platform === "darwin") return join(homeFolder, "Library", "Caches");
  if (platform === "win32") return env["LOCALAPPDATA"] || join(homeFolder, "AppData", "Local");
  const said = env["XDG_CACHE_HOME"] ?? "";
  return isAbsolute(said) ? said : join(homeFolder, ".cache");
}
