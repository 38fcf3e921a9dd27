import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { parse } from "smol-toml";
import { MillraceError } from "../../../base/errors.ts";
import { isObject, type JsonObject, parseJson, writeJson } from "../../../base/json.ts";
import type { Abilities } from "../abilities.ts";
import { serverName } from "../tools/session-tools.ts";
import type { AcpAgentSpec } from "./agent-spec.ts";

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

/** The environment that the agent's user gives it. */
type Variables = Readonly<Record<string, string>>;

interface KnownAgent {
  /** In a word of the command, and in `agentInfo.name`. */
  readonly name: RegExp;
  readonly args?: (file: string, given: Variables) => readonly string[];
  readonly environment?: (file: string, given: Variables) => Variables;
  /** The content of the file that `args` or `environment` name. */
  readonly file?: string;
  readonly meta?: object;
  /** The version from which on a model was seen to call the tools of a session's server under these settings. Older ones list them and call none. */
  readonly servesSince?: string;
  /**
   * Its sessions in one folder share their MCP servers by name: the newest one's server gets the calls of all. So each session with the
   * client's tools needs a folder of its own. Source: docs/wire/acp-tools.md, "The server of a session".
   */
  readonly sharesServers?: true;
}

/** The client's tools are named after our server, and stay allowed. */
const clientTools = `${serverName}_*`;
const deny = { "*": "deny", [clientTools]: "allow" };
const openCode: JsonObject = {
  permission: deny,
  tools: { "*": false, [clientTools]: true },
  agent: { plan: { permission: deny }, title: { disable: true } },
};

/** Tools of Qwen Code that `tools.core` does not take away. */
const qwenTools =
  "agent ask_user_question enter_plan_mode enter_worktree exit_plan_mode exit_worktree record_artifact send_message skill task_stop".split(
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
    args: (_, given) =>
      Object.entries(codexSettings(given)).flatMap(([key, value]) => ["-c", `${key}=${writeJson(value)}`]),
    environment: (_, given) => ({
      CODEX_CONFIG: writeJson({ ...parsedObject(given, "CODEX_CONFIG"), ...codexSettings(given) }),
    }),
  },
  {
    name: /claude-(?:agent|code)-acp/,
    meta: {
      disableBuiltInTools: true,
      claudeCode: { options: { title: "Millrace", tools: [], settingSources: ["user"], strictMcpConfig: true } },
    },
  },
  {
    name: /gemini/,
    servesSince: "0.61",
    // it checks a call of a server a second time under another name of the server, so a rule cannot name ours
    args: (file) => ["--admin-policy", file, "--allowed-mcp-server-names", serverName],
    file: `[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 998\n\n[[rule]]\nmcpName = "*"\ntoolName = "*"\ndecision = "allow"\npriority = 999\n`,
  },
  {
    name: /qwen/,
    servesSince: "0.24",
    environment: (file) => ({ QWEN_CODE_SYSTEM_SETTINGS_PATH: file }),
    file: writeJson({
      tools: { core: ["none"], approvalMode: "plan", toolSearch: { enabled: false }, disabled: qwenTools },
      memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false, enableAutoSkill: false },
      permissions: { allow: [`mcp__${serverName}`] },
      mcp: { allowed: [serverName] },
      disableAllHooks: true,
    }),
  },
  {
    name: /opencode/,
    environment: (_, given) => ({ OPENCODE_CONFIG_CONTENT: withoutTools(given) }),
    sharesServers: true,
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
  if (spec.vendor === "devin") return nothingKnown;
  const known = knownAgent(spec);
  const sharesServers = known?.sharesServers === true;
  if (spec.allowsActions === true) return { ...nothingKnown, isKnown: true, sharesServers };
  if (known === undefined) return nothingKnown;
  const file = join(folder, known.file?.startsWith("[[") === true ? "answers-only.toml" : "answers-only.json"); // Gemini reads no other name
  if (known.file !== undefined) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(file, known.file, { mode: 0o600 });
  }
  return {
    args: known.args?.(file, spec.environment) ?? [],
    environment: known.environment?.(file, spec.environment) ?? {},
    meta: known.meta,
    isKnown: true,
    sharesServers,
  };
}

/** Whether a model of this agent can call the tools of a server that its session gets. */
export function servesTools(spec: AcpAgentSpec, { version = "0" }: Abilities): boolean {
  const since = spec.vendor === "devin" || spec.allowsActions === true ? undefined : knownAgent(spec)?.servesSince;
  return since === undefined || version.localeCompare(since, "en", { numeric: true }) >= 0;
}

function knownAgent({ command, args }: AcpAgentSpec): KnownAgent | undefined {
  const words = [command, ...args].map((word) => basename(word.replaceAll("\\", "/")).toLowerCase());
  return table.find(({ name }) => words.some((word) => name.test(word)));
}

/** Whether an agent by this `agentInfo.name` has settings of the table. */
export function hasOwnSettings(agentName: string | undefined): boolean {
  return table.some(({ name }) => name.test(agentName?.toLowerCase() ?? ""));
}

/**
 * Codex from 1.0 on asks a model for the title of a session without one. That request has its owner's permissions and the user's text,
 * and no setting of ours reaches it, so the session must get a title from us. Source: docs/wire/acp-measured.md, "Titles".
 */
export function actsForTitles({ name, version, canTitle }: Abilities): boolean {
  return !canTitle && /codex-acp/i.test(name ?? "") && version?.startsWith("0.") !== true;
}

/** The user's configuration with ours over it: OpenCode reads this variable last. */
function withoutTools(given: Variables): string {
  const parsed = parsedObject(given, "OPENCODE_CONFIG_CONTENT");
  const agents = isObject(parsed["agent"]) ? parsed["agent"] : {};
  return writeJson({ ...parsed, ...openCode, agent: { ...agents, ...(openCode["agent"] as object) } }); // an object, above
}

function parsedObject(given: Variables, name: string): JsonObject {
  try {
    const parsed: unknown = parseJson(given[name] ?? "{}");
    if (isObject(parsed)) return parsed;
  } catch {
    // refused below
  }
  throw new MillraceError("invalid_request", `${name} of an agent is not a JSON object.`, {
    hint: "Correct the variable in config.toml, or put the settings into a file of the agent's.",
  });
}

/**
 * A tool of a server that Codex' owner approved runs without a question in every mode, and servers can only be disabled one by one, by
 * their names. Source: docs/wire/acp-measured.md, "Modes and what they prevent".
 *
 * @throws MillraceError `invalid_request` where a configuration of its owner cannot be read.
 */
function codexSettings(given: Variables): JsonObject {
  const own = given["CODEX_HOME"] ?? join(given["HOME"] ?? homedir(), ".codex");
  const files = [join(own, "config.toml"), "/etc/codex/config.toml"].filter((file) => existsSync(file));
  const servers = [parsedObject(given, "CODEX_CONFIG"), ...files.map(parsedToml)].flatMap(serversIn);
  return {
    approval_policy: "on-request",
    sandbox_mode: "read-only",
    "features.apps": false,
    "features.plugins": false,
    ...Object.fromEntries(servers.map((server) => [`mcp_servers.${server}.enabled`, false])),
  };
}

function parsedToml(file: string): JsonObject {
  try {
    return parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new MillraceError("invalid_request", `The settings of Codex in ${file} cannot be read.`, {
      hint: "Correct the file. Millrace disables the MCP servers that it names.",
      cause: error,
    });
  }
}

/** The names of servers; also those of dotted keys and of profiles, which are settings over the others. */
function serversIn(config: JsonObject): readonly string[] {
  const { mcp_servers: servers, profiles } = config;
  const dotted = Object.keys(config).flatMap((key) => /^mcp_servers\.([\w-]+)/.exec(key)?.[1] ?? []);
  const inProfiles = isObject(profiles) ? Object.values(profiles).filter(isObject).flatMap(serversIn) : [];
  return [...(isObject(servers) ? Object.keys(servers) : []), ...dotted, ...inProfiles];
}
