import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, type PlatformPath, posix, win32 } from "node:path";
import { parse as parseJson } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { MillraceError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import { type Client, type ClientStart, json, type Machine, type Policy, type RunKey, type Target } from "./client.ts";

/**
 * How `run` starts a client that has a `launch`. Throws `invalid_request` that names the file and the setting, where an administrator's
 * settings would lead it to another server: they win over all that Millrace can pass on.
 */
export function startOf(client: Client, target: Target, run: RunKey, machine: Machine): ClientStart {
  if (client.managed !== undefined) refuseManaged(client, client.managed, machine);
  return client.launch?.(target, run, machine) ?? {};
}

function refuseManaged({ title }: Client, managed: Policy, machine: Machine): void {
  const { ofProject } = managed;
  const files = [...(ofProject === undefined ? [] : filesAt(ofProject, posix)), ...managedFiles(managed, machine)];
  for (const file of files) {
    const found = managed.settings.find(isSetIn(file, title));
    if (found === undefined) continue;
    const whose = file === ofProject ? "this project" : "this machine's administrator";
    throw new MillraceError("invalid_request", `${title} was not started: ${file} sets ${found}.`, {
      hint: `These settings of ${whose} win over all others, so ${title} would not ask this gateway.`,
    });
  }
}

/** Settings of one run in the place of an administrator's, which stay beside them: nothing of the user or the project wins over these. */
export function inSystemSettings(
  { managed, title }: Client,
  own: object,
  { folder }: RunKey,
  machine: Machine,
): Required<Pick<ClientStart, "env" | "files">> {
  if (managed?.variable === undefined) return { env: {}, files: [] };
  const theirs = managedFiles(managed, machine).map((file) => parsed(file, title));
  const file = join(folder, "system.json");
  return {
    env: { [managed.variable]: file },
    files: [{ file, text: json({ ...Object.assign({}, ...theirs), ...own }) }],
  };
}

function managedFiles(
  { paths, variable }: Policy,
  { platform, systemFolder = "/", homeFolder, env }: Machine,
): readonly string[] {
  const given = variable === undefined ? undefined : env[variable];
  if (given !== undefined) return filesAt(given, platform === "win32" ? win32 : posix);
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
