import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parse } from "smol-toml";
import { MillraceError } from "../../../base/errors.ts";
import { isObject, type JsonObject, writeJson } from "../../../base/json.ts";
import { type KnownAgent, parsedObject, type Variables } from "./known-agent.ts";

export const codex: KnownAgent = {
  name: /codex-acp/,
  servesSince: "2.6",
  args: (_, given) => codexOptions(given),
  environment: (_, given) => ({ CODEX_CONFIG: codexConfig(given) }),
  // a session with our server replaces the `mcp_servers` of CODEX_CONFIG; the settings of its folder stay in force
  inFolder: (given) => ({ ".codex/config.toml": codexServersOff(given) }),
};

/**
 * Codex from 1.0 on asks a model for the title of a session without one. That request has its owner's permissions and the user's text,
 * and no setting of ours reaches it, so the session must get a title from us. Source: docs/dev/wire/acp.md, "Titles".
 */
export function actsForTitles({
  name,
  version,
  canTitle,
}: {
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly canTitle: boolean;
}): boolean {
  return !canTitle && /codex-acp/i.test(name ?? "") && version?.startsWith("0.") !== true;
}

/** What Codex offers its model, and what else of its owner acts on a prompt. All of it is off. Source: docs/dev/wire/acp.md, "Tools of Codex". */
const features =
  "apps browser_use browser_use_external code_mode computer_use goals hooks image_generation in_app_browser memories multi_agent multi_agent_v2 plugins request_permissions_tool shell_tool standalone_web_search tool_suggest unified_exec view_image".split(
    " ",
  );

/**
 * The settings that Codex runs with. A tool of a server that its owner approved runs without a question in every mode, and servers can
 * only be disabled one by one, by their names; so can skills, by their files. Source: docs/dev/wire/acp.md, "Tools of Codex".
 *
 * @throws MillraceError `invalid_request` where a configuration of its owner cannot be read.
 */
function codexSettings(given: Variables): JsonObject {
  const home = given["HOME"] ?? homedir();
  const own = given["CODEX_HOME"] ?? join(home, ".codex");
  const files = [join(own, "config.toml"), "/etc/codex/config.toml"].filter((file) => existsSync(file));
  const servers = files.map(parsedToml).flatMap(serversIn);
  const skills = [join(own, "skills"), join(home, ".agents/skills"), "/etc/codex/skills"].flatMap((root) =>
    skillsIn(root),
  );
  return {
    approval_policy: "on-request",
    sandbox_mode: "read-only",
    notify: [],
    web_search: "disabled",
    project_doc_max_bytes: 0,
    instructions: "",
    developer_instructions: "",
    history: { persistence: "none" },
    features: Object.fromEntries(features.map((feature) => [feature, false])),
    tools: { experimental_request_user_input: { enabled: false }, update_plan: { enabled: false } },
    skills: {
      bundled: { enabled: false },
      include_instructions: false,
      config: skills.map((path) => ({ path, enabled: false })),
    },
    mcp_servers: Object.fromEntries(servers.map((server) => [server, { enabled: false }])),
  };
}

/** `CODEX_CONFIG` with ours over it. A dotted name is the same as nested ones, and wins only sometimes, so none stays. */
function codexConfig(given: Variables): string {
  const { mcp_servers: _servers, ...theirs } = nested(parsedObject(given, "CODEX_CONFIG"));
  return writeJson(merged(theirs, codexSettings(given)));
}

/** The settings of a folder that disable its owner's servers, as TOML. */
function codexServersOff(given: Variables): string {
  const { mcp_servers: servers } = codexSettings(given);
  const names = isObject(servers) ? Object.keys(servers) : [];
  return names.map((name) => `[mcp_servers.${writeJson(name)}]\nenabled = false\n`).join("\n");
}

/** Options of the command line, which Codex before 1.0 takes and later ones ignore: the settings that it had then. */
function codexOptions(given: Variables): readonly string[] {
  const { approval_policy, sandbox_mode, features: off, mcp_servers: servers } = codexSettings(given);
  const leaves = Object.entries({ approval_policy, sandbox_mode, features: off, mcp_servers: servers });
  return leaves
    .flatMap(([key, value]) => dotted(key, value))
    .flatMap(([key, value]) => ["-c", `${key}=${writeJson(value)}`]);
}

function nested(config: JsonObject): JsonObject {
  return Object.entries(config).reduce<JsonObject>((all, [key, value]) => {
    const path = key.split(".").reverse();
    return merged(all, path.reduce<unknown>((inner, name) => ({ [name]: inner }), value) as JsonObject); // at least one name
  }, {});
}

/** The second object's members over the first one's, at each level. */
function merged(below: JsonObject, above: JsonObject): JsonObject {
  const both = Object.entries(above).map(([key, value]) => {
    const under = below[key];
    return [key, isObject(value) && isObject(under) ? merged(under, value) : value];
  });
  return { ...below, ...Object.fromEntries(both) };
}

function dotted(key: string, value: unknown): readonly (readonly [string, unknown])[] {
  if (!isObject(value)) return [[key, value]];
  return Object.entries(value).flatMap(([name, inner]) => dotted(`${key}.${name}`, inner));
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

/** The names of servers; also those of profiles, which are settings over the others. */
function serversIn(config: JsonObject): readonly string[] {
  const { mcp_servers: servers, profiles } = config;
  const inProfiles = isObject(profiles) ? Object.values(profiles).filter(isObject).flatMap(serversIn) : [];
  return [...(isObject(servers) ? Object.keys(servers) : []), ...inProfiles];
}

/** How deep Codex looks for skills. */
const skillLevels = 6;

/** The files of the skills below a folder, each under the name that Codex finds it by, and its real one. */
function skillsIn(folder: string, levels = skillLevels): readonly string[] {
  const entries = readable(folder);
  return entries.flatMap((entry) => {
    const path = join(folder, entry);
    if (entry === "SKILL.md") return [...new Set([path, realpathSync(path)])];
    return levels === 0 ? [] : skillsIn(path, levels - 1);
  });
}

function readable(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // a file, or not there
  }
}
