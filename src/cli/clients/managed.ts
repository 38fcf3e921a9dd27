import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type PlatformPath, posix, win32 } from "node:path";
import { parse as parseJson } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { MillraceError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import type { Client, Machine } from "./client.ts";

/**
 * Where an administrator's settings of one client are, by system: a file, or a folder whose files (`.json`) all count. A `.plist` is what a
 * Mac's management laid down, for all users or (in a folder of the user's name) for one.
 */
export type ManagedPaths = Readonly<Record<"linux" | "darwin" | "win32", readonly string[]>>;

/**
 * Throws `invalid_request` that names the file and the setting, where an administrator's settings set one of `settings` (dotted paths): they
 * win over all that Millrace can pass on, so the client would not ask this gateway.
 */
export function refuseManaged(
  { title }: Pick<Client, "title">,
  paths: ManagedPaths,
  settings: readonly string[],
  machine: Machine,
): void {
  for (const file of managedFiles(paths, machine)) {
    const found = settings.find(isSetIn(file, title));
    if (found === undefined) continue;
    throw new MillraceError("invalid_request", `${title} was not started: ${file} sets ${found}.`, {
      hint: `These settings of this machine's administrator win over all others, so ${title} would not ask this gateway.`,
    });
  }
}

/** What an administrator's settings hold that are here. */
export function managedContents(paths: ManagedPaths, machine: Machine): readonly unknown[] {
  return managedFiles(paths, machine).map((file) => parsed(file, "The client"));
}

function managedFiles(paths: ManagedPaths, { platform, systemFolder = "/", homeFolder }: Machine): readonly string[] {
  const known = platform === "darwin" ? platform : "linux";
  if (platform === "win32") return paths.win32.flatMap((path) => filesAt(path, win32));
  const user = posix.basename(homeFolder);
  const all = paths[known].flatMap((path) =>
    path.endsWith(".plist") ? [path, posix.join(posix.dirname(path), user, posix.basename(path))] : [path],
  );
  return all.flatMap((path) => filesAt(posix.join(systemFolder, path), posix));
}

/** Tells whether a file sets a setting. A `.plist`, which may be binary, has names as plain text: one that stands there counts as set. */
function isSetIn(file: string, title: string): (setting: string) => boolean {
  if (file.endsWith(".plist")) {
    const text = readFileSync(file, "latin1");
    return (setting) => text.includes(setting.split(".").at(-1) ?? setting);
  }
  const content = parsed(file, title);
  return (setting) => isSet(content, setting.split("."));
}

function filesAt(path: string, paths: PlatformPath): readonly string[] {
  if (!existsSync(path)) return [];
  if (/\.\w+$/.test(path) && !path.endsWith(".d")) return [path];
  return readdirSync(path).flatMap((name) => (name.endsWith(".json") ? [paths.join(path, name)] : []));
}

function isSet(content: unknown, [name = "", ...rest]: readonly string[]): boolean {
  const value = isObject(content) ? content[name] : undefined;
  if (rest.length > 0) return isSet(value, rest);
  return value !== undefined && value !== null && value !== "" && value !== false && value !== "0";
}

function parsed(file: string, title: string): unknown {
  try {
    const text = readFileSync(file, "utf8");
    return file.endsWith(".toml") ? parseToml(text) : parseJson(text);
  } catch (error) {
    throw new MillraceError("invalid_request", `${title} was not started: ${file} cannot be read.`, {
      hint: `It may lead ${title} elsewhere. Ask the administrator of this machine.`,
      cause: error,
    });
  }
}
