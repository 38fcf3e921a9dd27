import { join } from "node:path";
import { type Client, exportKey } from "./client.ts";

/** Zed wants a number where the account's list says none. */
const wantedTokens = 128_000;

/** Zed: an OpenAI-compatible provider, whose key it reads from MILLRACE_API_KEY. */
export const zed: Client = {
  name: "zed",
  title: "Zed",
  edits: ({ url, models }, { homeFolder, env, platform }) => {
    const folder =
      platform === "win32" ? (env["APPDATA"] ?? join(homeFolder, "AppData", "Roaming")) : join(homeFolder, ".config");
    return [
      {
        kind: "json",
        file: join(folder, platform === "win32" ? "Zed" : "zed", "settings.json"),
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
  notes: () => [`Start Zed from a shell with: ${exportKey}`],
};
