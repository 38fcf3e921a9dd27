import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { MillraceError } from "../../../base/errors.ts";
import type { AcpAgentSpec } from "./agent-spec.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { gemini } from "./gemini.ts";
import type { KnownAgent } from "./known-agent.ts";
import { openCode } from "./open-code.ts";
import { makeOwnHome, newServerName } from "./own-home.ts";
import { qwen } from "./qwen.ts";

export const knownAgents: readonly KnownAgent[] = [codex, claude, gemini, qwen, openCode];

/** What an agent program is started with in place of its owner's settings. The sign-in stays the owner's. */
export interface OwnSettings {
  readonly args: readonly string[];
  /** The whole environment of the process, without its secrets. */
  readonly environment: Readonly<Record<string, string>>;
  /** `_meta` of `session/new` and `session/load`. */
  readonly meta: object | undefined;
  /** The mode of its sessions; undefined for an agent that is not in the table, or whose user lets it act. */
  readonly mode: string | undefined;
  /** As `KnownAgent` has it. */
  readonly sharesServers: boolean;
  /** The name of our MCP server. */
  readonly server: string;
}

/**
 * The settings for this agent, whose own home is made below the folder.
 *
 * @throws MillraceError `invalid_request` where the user's own settings for it cannot be read, or an administrator's would win over these.
 * `root`: below it are the files of the machine.
 */
export async function ownSettings(spec: AcpAgentSpec, folder: string, root = "/"): Promise<OwnSettings> {
  const known = knownAgent(spec);
  const none = fencelessSettings(spec);
  if (known === undefined || spec.allowsActions === true) return none;
  for (const path of known.system ?? []) await refuseThere(path.startsWith("/") ? join(root, path) : path);
  const place = { home: join(folder, "home"), server: none.server };
  return { ...none, ...(await makeOwnHome(known, spec.environment, place)), meta: known.meta, mode: known.mode };
}

/** Throws where there is such a file, or a folder with anything in it. */
async function refuseThere(path: string): Promise<void> {
  const found = await readdir(path).catch(({ code }: NodeJS.ErrnoException) => (code === "ENOENT" ? [] : [path])); // fs throws nothing else
  if (found.length === 0) return;
  throw new MillraceError("invalid_request", `The agent is not started: ${path} is there.`, {
    hint: "Settings of this machine's administrator win over those that keep the agent from acting. `allow_actions = true` in its entry of config.toml lets it act.",
  });
}

/** Of an agent that is not in the table, or whose user lets it act. */
export function fencelessSettings(spec: AcpAgentSpec): OwnSettings {
  const sharesServers = knownAgent(spec)?.sharesServers === true;
  const { environment } = spec;
  return { args: [], environment, meta: undefined, mode: undefined, sharesServers, server: newServerName() };
}

/** Whether the agent is started with settings that leave it no tool of its own. */
export function hasNoTools(spec: AcpAgentSpec): boolean {
  return spec.allowsActions !== true && knownAgent(spec) !== undefined;
}

function knownAgent(spec: AcpAgentSpec): KnownAgent | undefined {
  return spec.vendor === "devin" ? undefined : entryOf(programOf(spec));
}

function entryOf(program: string | undefined): KnownAgent | undefined {
  return knownAgents.find((known) => known.program.test(program?.toLowerCase() ?? ""));
}

/** Programs that start the one which their arguments name. */
const launchers = /^(?:npx|npm|pnpm|pnpx|yarn|bunx?|node|deno|env|mise|volta|cmd|tsx)$/;
/** Words of a launcher before the name of the program: options, variables, and subcommands. */
const beforeProgram = /^(?:-.*|\/c|\w+=.*|exec|dlx|run|x|--)$/i;

/** The name of the program that a command starts: "opencode" of `/usr/bin/opencode acp` and of `npx -y opencode-ai@latest acp`. */
function programOf({ command, args }: Pick<AcpAgentSpec, "command" | "args">): string {
  const name = (word: string) => basename(word.replaceAll("\\", "/")).replace(/\.(?:exe|cmd|bat)$/i, "");
  const words = [command, ...args];
  let at = 0;
  while (at < args.length && launchers.test(name(words[at] ?? ""))) {
    at++;
    while (at < args.length && beforeProgram.test(words[at] ?? "")) at++;
  }
  return name(words[at] ?? "");
}

/**
 * Whether the settings of an agent are for the program that answers. `other`: it is not the one that its command names. `untried`: an adapter
 * that the entry does not name. `older`, `newer`: than the versions that were tried.
 */
export type Fit =
  | { readonly is: "tried" | "other" }
  | { readonly is: "untried" | "older" | "newer"; readonly known: KnownAgent; readonly tried: string };

/** `says`: name and version, as the agent's `agentInfo` has them. */
export function fitOf(
  spec: AcpAgentSpec,
  says: { readonly name: string | undefined; readonly version: string | undefined },
): Fit {
  const known = knownAgent(spec);
  const { name, version = "0" } = says;
  if (spec.allowsActions === true || spec.vendor === "devin") return { is: "tried" };
  if (known === undefined) return { is: entryOf(name) === undefined ? "tried" : "other" };
  if (entryOf(name) !== known) return { is: "other" };
  const [oldest, newest] = known.tried[name ?? ""] ?? [];
  if (oldest === undefined || newest === undefined)
    return { is: "untried", known, tried: Object.keys(known.tried).join(", ") };
  const tried = oldest === newest ? newest : `${oldest} to ${newest}`;
  if (isBefore(version, oldest)) return { is: "older", known, tried };
  return isBefore(newest, version) ? { is: "newer", known, tried } : { is: "tried" };
}

/** A preview (`1.2.0-nightly.3`) comes before its release. */
function isBefore(one: string, other: string): boolean {
  const [[release = "", preview], [otherRelease = "", otherPreview]] = [one.split(/-(.*)/), other.split(/-(.*)/)];
  const order = release.localeCompare(otherRelease, "en", { numeric: true });
  return order < 0 || (order === 0 && preview !== undefined && otherPreview === undefined);
}
