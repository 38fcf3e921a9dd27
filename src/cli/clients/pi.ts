import { join } from "node:path";
import { type Client, exemptionNotes, type Target } from "./client.ts";

/** pi: a provider in its list of models, whose key is the output of a command. Source: the page on models in the package of pi 0.86.1. */
export const pi: Client = {
  name: "pi",
  title: "pi",
  programs: ["pi"],
  install: "npm install --global @earendil-works/pi-coding-agent",
  refused: /^--provider(?:=|$)/,
  edits: (target, { homeFolder, env }) => {
    const folder = env["PI_CODING_AGENT_DIR"] || join(homeFolder, ".pi", "agent");
    return [
      {
        kind: "json",
        file: join(folder, "models.json"),
        set: [{ path: ["providers", "millrace"], value: provider(target, `!${target.keyCommand}`) }],
      },
      {
        kind: "json",
        file: join(folder, "settings.json"),
        set: [
          { path: ["defaultProvider"], value: "millrace" },
          { path: ["defaultModel"], value: target.model },
        ],
      },
    ];
  },
  notes: (target, env) => [
    "All of these models are in pi's list under `/model`.",
    ...exemptionNotes("A settings file of pi", target, env),
  ],
  launch: (target, { variable, folder }) => {
    const extension = join(folder, "pi.js");
    const registered = JSON.stringify(provider(target, `$${variable}`), null, 2);
    return {
      args: ["--extension", extension, "--provider", "millrace", "--model", target.model],
      env: {},
      files: [{ file: extension, text: `export default (pi) => pi.registerProvider("millrace", ${registered});\n` }],
    };
  },
};

function provider({ url, models }: Target, apiKey: string) {
  return {
    name: "Millrace",
    baseUrl: `${url}/v1`,
    api: "openai-completions",
    apiKey,
    models: models.map(({ id, name, contextTokens, maxOutputTokens, images }) => ({
      id,
      name,
      reasoning: false,
      input: images ? ["text", "image"] : ["text"],
      // its extensions must say all of these; its own defaults where the list is silent
      contextWindow: contextTokens ?? 128_000,
      maxTokens: maxOutputTokens ?? 16_384,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    })),
  };
}
