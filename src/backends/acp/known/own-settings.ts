import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isObject, type JsonObject, writeJson } from "../../../base/json.ts";
import { type AcpAgentSpec, workingFolder } from "./agent-spec.ts";
import { codexConfig, codexOptions, codexServersOff, parsedObject, type Variables } from "./codex.ts";
import { serverName } from "./tool-names.ts";
import { removeTraces, type Traces } from "./traces.ts";

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

interface KnownAgent {
  /** In the name of the program, and in `agentInfo.name`. */
  readonly name: RegExp;
  readonly args?: (file: string, given: Variables) => readonly string[];
  readonly environment?: (file: string, given: Variables) => Variables;
  /** The content of the file that `args` or `environment` name. */
  readonly file?: string;
  /** Files in its working folder: their content by their path. */
  readonly inFolder?: (given: Variables) => Readonly<Record<string, string>>;
  readonly meta?: object;
  /** The version from which on a model was seen to call the tools of a session's server under these settings. Older ones list them and call none. */
  readonly servesSince?: string;
  /**
   * Its sessions in one folder share their MCP servers by name: the newest one's server gets the calls of all. So each session with the
   * client's tools needs a folder of its own. Source: docs/wire/acp-tools.md, "The server of a session".
   */
  readonly sharesServers?: true;
  /** What its sessions leave on disk, where we can tell it from what is its owner's. */
  readonly traces?: Traces;
}

/** What an agent says of itself in its reply to `initialize`. */
interface AgentClaims {
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly canTitle: boolean;
}

/** The client's tools are named after our server, and stay allowed. */
const clientTools = `${serverName}_*`;
const deny = { "*": "deny", [clientTools]: "allow" };
const openCode: JsonObject = {
  permission: deny,
  tools: { "*": false, [clientTools]: true },
  agent: { plan: { permission: deny }, title: { disable: true } },
};

/** Read after the owner's own, which are set in Claude's settings. */
const claudeVariables: Variables = {
  CLAUDE_CODE_DISABLE_ATTACHMENTS: "1",
  CLAUDE_CODE_DISABLE_CLAUDE_MDS: "1",
  CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: "1",
};

/** The name of a file that is nowhere, in place of those that an agent reads its owner's notes from. */
const noMemory = "millrace-reads-no-notes.md";

/** OpenCode's folder of settings, below its working folder. */
const openCodeFolder = "answers-only";

/** Tools of Qwen Code that `tools.core` does not take away. */
const qwenTools =
  "agent ask_user_question enter_plan_mode enter_worktree exit_plan_mode exit_worktree get_goal list_agents record_artifact report_findings send_message skill task_stop update_goal".split(
    " ",
  );

/**
 * The agents whose own tools can be taken away, and how. A mode alone does not do it: where the owner allowed a tool, each of them but
 * Codex runs it in its `plan` mode too. Source: docs/wire/acp-measured.md, "Modes and what they prevent".
 */
const table: readonly KnownAgent[] = [
  {
    name: /codex-acp/,
    servesSince: "2.6",
    args: (_, given) => codexOptions(given),
    environment: (_, given) => ({ CODEX_CONFIG: codexConfig(given) }),
    // a session with our server replaces the `mcp_servers` of CODEX_CONFIG; the settings of its folder stay in force
    inFolder: (given) => ({ ".codex/config.toml": codexServersOff(given) }),
    // its `session/delete` only archives
    traces: {
      root: (given, home) => given["CODEX_HOME"] ?? join(home, ".codex"),
      folders: { sessions: 3, archived_sessions: 0, shell_snapshots: 0, "thread-writer-locks": 0 },
      databases: /^(?:state|thread_history)_\d+\.sqlite$/,
    },
  },
  {
    name: /claude-(?:agent|code)-acp/,
    // it looks for commands and `@path` in every block of a prompt, and in its model's tool results
    meta: {
      disableBuiltInTools: true,
      claudeCode: {
        options: {
          title: "Millrace",
          tools: [],
          skills: [],
          settingSources: ["user"],
          strictMcpConfig: true,
          verbatimPrompts: true,
          promptSuggestions: false,
          extraArgs: { "disable-slash-commands": null },
          settings: { disableAllHooks: true, env: claudeVariables },
        },
      },
    },
    traces: {
      root: (given, home) => given["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude"),
      folders: { projects: 1, telemetry: 0, "session-env": 0, todos: 0, debug: 0, "file-history": 0 },
    },
  },
  {
    name: /gemini/,
    servesSince: "0.61",
    // it checks a call of a server a second time under another name of the server, so a rule cannot name ours
    args: (file) => ["--admin-policy", file, "--allowed-mcp-server-names", serverName, "--extensions", "none"],
    // it starts no server of a session, and reads no settings of a folder, that it does not trust
    environment: () => ({ GEMINI_CLI_TRUST_WORKSPACE: "true" }),
    inFolder: () => ({
      ".gemini/settings.json": writeJson({
        hooksConfig: { enabled: false },
        skills: { enabled: false },
        experimental: { enableAgents: false },
        context: { fileName: [noMemory] }, // in place of its owner's names; GEMINI.md stays one of them
      }),
    }),
    traces: { root: (_, home) => join(home, ".gemini"), folders: { tmp: 2 }, shortNames: true },
    file: `[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 998\n\n[[rule]]\nmcpName = "*"\ntoolName = "*"\ndecision = "allow"\npriority = 999\n`,
  },
  {
    name: /qwen/,
    servesSince: "0.24",
    args: () => ["--extensions", "none"],
    environment: (file) => ({ QWEN_CODE_SYSTEM_SETTINGS_PATH: file }),
    traces: { root: (_, home) => join(home, ".qwen"), folders: { projects: 2, debug: 0, todos: 0 } },
    file: writeJson({
      tools: { core: ["none"], approvalMode: "plan", toolSearch: { enabled: false }, disabled: qwenTools },
      memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false, enableAutoSkill: false },
      permissions: { allow: [`mcp__${serverName}`] },
      mcp: { allowed: [serverName] },
      skills: { disabledLevels: ["user", "project", "extension", "bundled"] },
      context: { fileName: [noMemory] },
      disableAllHooks: true,
    }),
  },
  {
    name: /opencode/,
    environment: (file, given) => ({
      OPENCODE_CONFIG_CONTENT: withoutTools(given),
      // the AGENTS.md of this folder is read in place of its owner's; his settings stay in force
      OPENCODE_CONFIG_DIR: given["OPENCODE_CONFIG_DIR"] ?? join(dirname(file), workingFolder, openCodeFolder),
      OPENCODE_PURE: "1", // no plugins of its owner
      OPENCODE_DISABLE_CLAUDE_CODE: "1",
      OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
      OPENCODE_DISABLE_PROJECT_CONFIG: "1", // the working folder is below its owner's home
    }),
    inFolder: () => ({
      [`${openCodeFolder}/AGENTS.md`]: "",
      // as if the libraries for plugins were there: else it installs them from the network
      [`${openCodeFolder}/package-lock.json`]: writeJson({
        packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } },
      }),
      [`${openCodeFolder}/node_modules/.none`]: "",
    }),
    sharesServers: true,
    // it has no `session/delete`
    traces: {
      root: (given, home) => join(given["XDG_DATA_HOME"] ?? join(home, ".local/share"), "opencode"),
      folders: {},
      databases: /^opencode\.db$/,
    },
  },
];

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

/** Removes what a session that is closed for good left on disk. Never throws. */
export async function forgetSession(spec: AcpAgentSpec, id: string): Promise<void> {
  await removeTraces(spec, knownAgent(spec)?.traces, id);
}

/** Whether a model of this agent can call the tools of a server that its session gets. */
export function servesTools(spec: AcpAgentSpec, { version = "0" }: Pick<AgentClaims, "version">): boolean {
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

/**
 * Codex from 1.0 on asks a model for the title of a session without one. That request has its owner's permissions and the user's text,
 * and no setting of ours reaches it, so the session must get a title from us. Source: docs/wire/acp-measured.md, "Titles".
 */
export function actsForTitles({ name, version, canTitle }: AgentClaims): boolean {
  return !canTitle && /codex-acp/i.test(name ?? "") && version?.startsWith("0.") !== true;
}

/** The user's configuration with ours over it: OpenCode reads this variable last. */
function withoutTools(given: Variables): string {
  const parsed = parsedObject(given, "OPENCODE_CONFIG_CONTENT");
  const agents = isObject(parsed["agent"]) ? parsed["agent"] : {};
  return writeJson({ ...parsed, ...openCode, agent: { ...agents, ...(openCode["agent"] as object) } }); // an object, above
}
