import { dirname, join } from "node:path";
import { isObject, type JsonObject, writeJson } from "../../../base/json.ts";
import { workingFolder } from "./agent-spec.ts";
import { type KnownAgent, parsedObject, type Variables } from "./known-agent.ts";
import { serverName } from "./tool-names.ts";

/** The client's tools are named after our server, and stay allowed. */
const clientTools = `${serverName}_*`;
const deny = { "*": "deny", [clientTools]: "allow" };
const ours: JsonObject = {
  permission: deny,
  tools: { "*": false, [clientTools]: true },
  agent: { plan: { permission: deny }, title: { disable: true } },
};

/** OpenCode's folder of settings, below its working folder. */
const openCodeFolder = "answers-only";

export const openCode: KnownAgent = {
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
};

/** The user's configuration with ours over it: OpenCode reads this variable last. */
function withoutTools(given: Variables): string {
  const parsed = parsedObject(given, "OPENCODE_CONFIG_CONTENT");
  const agents = isObject(parsed["agent"]) ? parsed["agent"] : {};
  return writeJson({ ...parsed, ...ours, agent: { ...agents, ...(ours["agent"] as object) } }); // an object, above
}
