import { join } from "node:path";
import { openCodePlugin } from "../package-files.ts";
import { type Client, keyVariable, type Target } from "./client.ts";

/** How the plugin's address ends: installed or built, and in a clone. */
const pluginEndings = ["/dist/node/opencode.js", "/src/opencode/plugin.ts"];

/** OpenCode: `setup` installs the plugin; `run` sets a provider in the environment. */
export const openCode: Client = {
  name: "opencode",
  title: "OpenCode",
  programs: ["opencode"],
  edits: ({ model }, { homeFolder, env }) => [
    {
      kind: "json",
      file: join(env["XDG_CONFIG_HOME"] || join(homeFolder, ".config"), "opencode", "opencode.json"),
      set: [
        { path: ["plugin"], value: openCodePlugin, key: "", formerly: pluginEndings },
        { path: ["model"], value: `millrace/${model}` },
      ],
    },
  ],
  notes: () => ["The plugin finds or starts the gateway by itself; all models of the account are under `millrace/`."],
  launch: (target, key, args) => ({
    command: "opencode",
    args,
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(openCodeConfig(target)), [keyVariable]: key },
  }),
};

/** The gateway as a provider, with the default model. */
export function openCodeConfig({ url, model, models }: Target) {
  const entries = models.map(({ id, name, contextTokens, maxOutputTokens, images }) => [
    id,
    {
      name,
      tool_call: true,
      attachment: images,
      modalities: { input: images ? ["text", "image"] : ["text"], output: ["text"] },
      ...(contextTokens === undefined ? {} : { limit: { context: contextTokens, output: maxOutputTokens ?? 32_768 } }),
    },
  ]);
  return {
    model: `millrace/${model}`,
    small_model: `millrace/${model}`,
    provider: {
      millrace: {
        npm: "@ai-sdk/openai-compatible",
        name: "Millrace",
        options: { baseURL: `${url}/v1`, apiKey: `{env:${keyVariable}}`, includeUsage: true },
        models: Object.fromEntries(entries),
      },
    },
  };
}
