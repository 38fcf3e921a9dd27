import { join } from "node:path";
import { type Client, exportKey, type Machine } from "./client.ts";

/** Zed wants a number where the account's list says none. */
const wantedTokens = 128_000;

/** Zed: an OpenAI-compatible provider, whose key it reads from MILLRACE_API_KEY. */
export const zed: Client = {
  name: "zed",
  title: "Zed",
  programs: ["zed", "zeditor"],
  folder: configFolder,
  edits: ({ url, models }, machine) => {
    return [
      {
        kind: "json",
        file: join(configFolder(machine), "settings.json"),
        set: [
          {
            path: ["language_models", "openai_compatible", "Millrace"],
            value: {
              api_url: `${url}/v1`,
              available_models: models.map(({ id, name, contextTokens, maxOutputTokens, images }) => ({
                name: id,
                display_name: name,
                max_tokens: contextTokens ?? wantedTokens,
                ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
                capabilities: { tools: true, images, parallel_tool_calls: true, prompt_cache_key: false },
              })),
            },
          },
        ],
      },
    ];
  },
  notes: (target) => [`Start Zed from a shell with: ${exportKey(target)}`],
};

function configFolder({ homeFolder, env, platform }: Machine): string {
  if (platform !== "win32") return join(homeFolder, ".config", "zed");
  return join(env["APPDATA"] ?? join(homeFolder, "AppData", "Roaming"), "Zed");
}
