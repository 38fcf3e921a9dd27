import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type AcpAgentSpec, workingFolder } from "./agent-spec.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { gemini } from "./gemini.ts";
import type { KnownAgent } from "./known-agent.ts";
import { openCode } from "./open-code.ts";
import { qwen } from "./qwen.ts";

const table: readonly KnownAgent[] = [codex, claude, gemini, qwen, openCode];

/** What an agent program is started with in place of its owner's permissions. The sign-in stays the owner's. */
export interface OwnSettings {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** `_meta` of `session/new` and `session/load`. */
  readonly meta: object | undefined;
  /** Whether the agent is one of the table, or its user lets it act. */
  readonly isKnown: boolean;
  /** As `KnownAgent` has it. */
  readonly sharesServers: boolean;
}

/** Of an agent that is not in the table. */
export const nothingKnown: OwnSettings = {
  args: [],
  environment: {},
  meta: undefined,
  isKnown: false,
  sharesServers: false,
};

/**
 * The settings for this agent; files of them are written below the folder.
 *
 * @throws MillraceError `invalid_request` where the user's own settings for it cannot be read.
 */
export async function ownSettings(spec: AcpAgentSpec, folder: string): Promise<OwnSettings> {
  const known = knownAgent(spec);
  const sharesServers = known?.sharesServers === true;
  if (spec.allowsActions === true) return { ...nothingKnown, isKnown: true, sharesServers };
  if (known === undefined) return nothingKnown;
  const file = join(folder, known.file?.startsWith("[[") === true ? "answers-only.toml" : "answers-only.json"); // Gemini reads no other name
  if (known.file !== undefined) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(file, known.file, { mode: 0o600 });
  }
  for (const [path, content] of Object.entries(known.inFolder?.(spec.environment) ?? {})) {
    const inFolder = join(folder, workingFolder, path);
    await mkdir(dirname(inFolder), { recursive: true, mode: 0o700 });
    await writeFile(inFolder, content, { mode: 0o600 });
  }
  return {
    args: known.args?.(file, spec.environment) ?? [],
    environment: known.environment?.(file, spec.environment) ?? {},
    meta: known.meta,
    isKnown: true,
    sharesServers,
  };
}

/** Whether the agent is started with settings that leave it no tool of its own. */
export function hasNoTools(spec: AcpAgentSpec): boolean {
  return spec.allowsActions !== true && knownAgent(spec) !== undefined;
}

/** Whether a model of this agent, in this version, can call the tools of a server that its session gets. */
export function servesTools(spec: AcpAgentSpec, version = "0"): boolean {
  const since = spec.allowsActions === true ? undefined : knownAgent(spec)?.servesSince;
  return since === undefined || version.localeCompare(since, "en", { numeric: true }) >= 0;
}

function knownAgent(spec: AcpAgentSpec): KnownAgent | undefined {
  return spec.vendor === "devin" ? undefined : entryOf(programOf(spec));
}

function entryOf(program: string | undefined): KnownAgent | undefined {
  return table.find(({ name }) => name.test(program?.toLowerCase() ?? ""));
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
 * Whether the agent is the one that its settings are for: an agent of the table runs with its own entry, and any other with none.
 * `agentName`: as it says in `agentInfo.name`.
 */
export function isAsStarted(spec: AcpAgentSpec, agentName: string | undefined): boolean {
  return spec.allowsActions === true || entryOf(agentName) === knownAgent(spec);
}
