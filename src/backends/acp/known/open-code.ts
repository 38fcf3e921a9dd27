import { dirname, join } from "node:path";
import { type JsonObject, writeJson } from "../../../base/json.ts";
import type { KnownAgent } from "./known-agent.ts";
import { merged, type Owner, picked, readJson } from "./owner.ts";

/** The members of its settings that say where models are, and which is meant. */
const ofModels = "provider model small_model enabled_providers disabled_providers";

export const openCode: KnownAgent = {
  program: /opencode/,
  tried: { OpenCode: ["1.18.33", "1.18.33"] },
  npm: "opencode-ai",
  mode: "plan",
  keeps: /^OPENCODE_(?:API_KEY|CONSOLE_TOKEN|AUTH_CONTENT|DISABLE_MODELS_FETCH|MODELS_(?:URL|PATH))$/,
  system: ["/etc/opencode", "/Library/Application Support/opencode", "C:\\ProgramData\\opencode"],
  signIn: [".local/share/opencode/auth.json"],
  async launch(owner, _home, server) {
    const deny = { "*": "deny", [`${server}_*`]: "allow" };
    const ours = {
      permission: deny,
      tools: { "*": false, [`${server}_*`]: true },
      agent: { plan: { permission: deny }, title: { disable: true } },
      share: "disabled",
      autoupdate: false,
    };
    return {
      files: {
        ".config/opencode/opencode.json": writeJson(picked(await ownersModels(owner), ofModels)),
        // as if the libraries for plugins were there: else it installs them from the network
        ".config/opencode/package-lock.json": writeJson({
          packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } },
        }),
        ".config/opencode/node_modules/.none": "",
      },
      environment: {
        OPENCODE_CONFIG_CONTENT: writeJson(ours), // read last
        OPENCODE_PURE: "1",
        OPENCODE_DISABLE_CLAUDE_CODE: "1",
        OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
        OPENCODE_DISABLE_PROJECT_CONFIG: "1", // the working folder is below its owner's home
      },
    };
  },
  sharesServers: true,
};

/** In the order in which OpenCode reads them. */
async function ownersModels(owner: Owner): Promise<JsonObject> {
  const {
    OPENCODE_CONFIG: named,
    OPENCODE_CONFIG_DIR: folder,
    OPENCODE_CONFIG_CONTENT: content = "",
  } = owner.variables;
  const inFolder = (path: string) => ["opencode.json", "opencode.jsonc"].map((name) => join(path, name));
  const global = dirname(owner.path(".config/opencode/opencode.json"));
  const files = [
    join(global, "config.json"),
    ...inFolder(global),
    ...(named === undefined ? [] : [named]),
    ...inFolder(owner.path(".opencode")),
    ...(folder === undefined ? [] : inFolder(folder)),
  ];
  let all: JsonObject = {};
  for (const file of files)
    all = merged(all, readJson(wholePaths((await owner.text(file)) ?? "", owner.home, dirname(file)), file));
  return merged(all, readJson(content, "OPENCODE_CONFIG_CONTENT"));
}

/** Its settings may name files whose text they hold, relative to where they stand. */
function wholePaths(text: string, home: string, folder: string): string {
  return text.replaceAll(
    /\{file:(?![/\\]|[A-Za-z]:)(~[/\\])?([^}]*)\}/g,
    (_, inHome: string | undefined, path: string) => {
      return `{file:${join(inHome === undefined ? folder : home, path).replaceAll("\\", "/")}}`;
    },
  );
}
