import { join } from "node:path";
import { type Client, exportKey, keyVariable, type Target, told } from "./client.ts";

/** droid: models of one's own in its settings, whose key is a reference to a variable. Source: droid 0.215.0. */
export const droid: Client = {
  name: "droid",
  title: "droid",
  programs: ["droid"],
  install: "npm install --global droid",
  refused: /^--settings(?:=|$)/,
  edits: (target, { homeFolder }) => [
    {
      kind: "json",
      file: join(homeFolder, ".factory", "settings.json"),
      set: customModels(target, keyVariable).map((value) => ({ path: ["customModels"], key: "id", value })),
    },
  ],
  notes: (target) => [
    `Before you start it: ${exportKey(target)}`,
    `Pick the model with /model, or: droid exec --model ${idOf(target.model)} "…"`,
    'In scripts, add --output-format stream-json: as text, droid shows "Exec failed" instead of each error message.',
  ],
  launch: (target, { variable, folder }) => {
    const file = join(folder, "droid.json");
    const settings = {
      customModels: customModels(target, variable),
      sessionDefaultSettings: { model: idOf(target.model) },
    };
    return {
      args: ["--settings", file],
      env: {},
      files: [{ file, text: `${JSON.stringify(settings, null, 2)}\n` }],
    };
  },
};

function idOf(model: string): string {
  return `custom:millrace:${model}`;
}

function customModels({ url, models }: Target, variable: string) {
  return models.map(({ id, name, contextTokens, maxOutputTokens, images }) => ({
    id: idOf(id),
    model: id,
    displayName: `${name} (Millrace)`,
    ...apiOf(id, url),
    apiKey: `\${${variable}}`,
    ...told({ maxContextLimit: contextTokens, maxOutputTokens }),
    noImageSupport: !images,
  }));
}

/** The API of a model's own vendor: of each other one droid warns in the user's place, in every session. Source: droid 0.215.0. */
function apiOf(model: string, url: string): { readonly provider: string; readonly baseUrl: string } {
  if (/claude|haiku|sonnet|opus/i.test(model)) return { provider: "anthropic", baseUrl: url };
  if (/gpt/i.test(model)) return { provider: "openai", baseUrl: `${url}/v1` };
  return { provider: "generic-chat-completion-api", baseUrl: `${url}/v1` };
}
