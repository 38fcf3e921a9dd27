import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { MillraceError } from "../../../base/errors.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
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
}

interface KnownAgent {
  /** In a word of the command, and in `agentInfo.name`. */
  readonly name: RegExp;
  readonly args?: (file: string) => readonly string[];
  readonly environment?: (file: string, given: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
  /** The content of the file that `args` or `environment` name. */
  readonly file?: string;
  readonly meta?: object;
  /** Under these settings no model gets to call the tools of a session's server, although the agent lists them: the client's are taught in prose. */
  readonly refusesServers?: true;
}

/** The client's tools are named after our server, and stay allowed. */
const clientTools = `${serverName}_*`;
const deny = { "*": "deny", [clientTools]: "allow" };
const openCode: JsonObject = {
  permission: deny,
  tools: { "*": false, [clientTools]: true },
  agent: { plan: { permission: deny } },
};

/**
 * The agents whose own tools can be taken away, and how. A mode alone does not do it: where the owner allowed a tool, each of them but
 * Codex runs it in its `plan` mode too. Source: docs/wire/acp-measured.md, "Modes and what they prevent".
 */
const table: readonly KnownAgent[] = [
  {
    name: /codex-acp/,
    args: () => ["-c", 'approval_policy="on-request"', "-c", 'sandbox_mode="read-only"'],
    refusesServers: true,
  },
  {
    name: /claude-(?:agent|code)-acp/,
    meta: {
      disableBuiltInTools: true,
      claudeCode: { options: { tools: [], settingSources: ["user"], strictMcpConfig: true } },
    },
  },
  {
    name: /gemini/,
    refusesServers: true,
    args: (file) => ["--admin-policy", file],
    file: `[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 998\n\n[[rule]]\nmcpName = "${serverName}"\ntoolName = "*"\ndecision = "allow"\npriority = 999\n`,
  },
  {
    name: /qwen/,
    refusesServers: true,
    environment: (file) => ({ QWEN_CODE_SYSTEM_SETTINGS_PATH: file }),
    file: JSON.stringify({
      tools: { core: ["none"], approvalMode: "plan" },
      mcp: { allowed: [serverName] },
      disableAllHooks: true,
    }),
  },
  {
    name: /opencode/,
    environment: (_, { OPENCODE_CONFIG_CONTENT: own = "{}" }) => ({ OPENCODE_CONFIG_CONTENT: withoutTools(own) }),
  },
];

const none: OwnSettings = { args: [], environment: {}, meta: undefined, isKnown: false };

/**
 * The settings for this agent; files of them are written below the folder.
 *
 * @throws MillraceError `invalid_request` where the user's own settings for it cannot be read.
 */
export async function ownSettings(spec: AcpAgentSpec, folder: string): Promise<OwnSettings> {
  if (spec.vendor === "devin") return none;
  if (spec.allowsActions === true) return { ...none, isKnown: true };
  const known = knownAgent(spec);
  if (known === undefined) return none;
  const file = join(folder, known.file?.startsWith("[[") === true ? "answers-only.toml" : "answers-only.json"); // Gemini reads no other name
  if (known.file !== undefined) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(file, known.file, { mode: 0o600 });
  }
  return {
    args: known.args?.(file) ?? [],
    environment: known.environment?.(file, spec.environment) ?? {},
    meta: known.meta,
    isKnown: true,
  };
}

/** Whether the agent's models cannot call the tools of a server that its session gets. */
export function refusesServers(spec: AcpAgentSpec): boolean {
  return spec.vendor !== "devin" && spec.allowsActions !== true && knownAgent(spec)?.refusesServers === true;
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
function withoutTools(own: string): string {
  try {
    const parsed: unknown = JSON.parse(own);
    if (isObject(parsed)) {
      const agents = isObject(parsed["agent"]) ? parsed["agent"] : {};
      return JSON.stringify({ ...parsed, ...openCode, agent: { ...agents, ...(openCode["agent"] as object) } }); // an object, above
    }
  } catch {
    // refused below
  }
  throw new MillraceError("invalid_request", "OPENCODE_CONFIG_CONTENT of an agent is not a JSON object.", {
    hint: "Correct the variable in config.toml, or put the settings into a file and name that in OPENCODE_CONFIG.",
  });
}
