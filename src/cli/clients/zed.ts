import { join } from "node:path";
import { type Client, exemptionNotes, exportKey, type Machine, type Target, told } from "./client.ts";

/** Zed wants a number where the account's list says none. */
const wantedTokens = 128_000;

/**
 * Zed: an OpenAI-compatible provider, whose key it reads from MILLRACE_API_KEY. `run` starts one with a data folder of its own, because
 * Zed takes providers from its settings alone.
 */
export const zed: Client = {
  name: "zed",
  title: "Zed",
  programs: ["zed", "zeditor"],
  refused: /^--user-data-dir(?:=|$)/,
  folder: configFolder,
  edits: (target, machine) => [
    {
      kind: "json",
      file: join(configFolder(machine), "settings.json"),
      set: [{ path: ["language_models", "openai_compatible", "Millrace"], value: provider(target) }],
    },
  ],
  notes: (target, env) => [
    `Start Zed from a shell with: ${exportKey(target)}`,
    ...exemptionNotes("Zed's settings file", target, env),
  ],
  launch: (target, { variable }, { ownFolder }) => {
    const folder = join(ownFolder, "run", "zed"); // it keeps its conversations there
    const name = nameFor(variable);
    const settings = { language_models: { openai_compatible: { [name]: provider(target) } } };
    return {
      args: ["--foreground", "--user-data-dir", folder],
      env: {},
      files: [{ file: join(folder, "config", "settings.json"), text: `${JSON.stringify(settings, null, 2)}\n` }],
    };
  },
};

/** The provider whose key Zed reads from this variable: its name in capitals, and `_API_KEY`. */
function nameFor(variable: string): string {
  const words = variable
    .replace(/_API_KEY$/, "")
    .toLowerCase()
    .split("_");
  return ["Millrace", ...words.slice(1)].join(" ");
}

function provider({ url, models }: Target) {
  return {
    api_url: `${url}/v1`,
    available_models: models.map(({ id, name, contextTokens, maxOutputTokens, images }) => ({
      name: id,
      display_name: name,
      max_tokens: contextTokens ?? wantedTokens,
      ...told({ max_output_tokens: maxOutputTokens }),
      capabilities: { tools: true, images, parallel_tool_calls: true, prompt_cache_key: false },
    })),
  };
}

function configFolder({ homeFolder, env, platform }: Machine): string {
  if (platform !== "win32") return join(homeFolder, ".config", "zed");
  return join(env["APPDATA"] ?? join(homeFolder, "AppData", "Roaming"), "Zed");
}
