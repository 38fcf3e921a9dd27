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
      set: customModels(target).map((value) => ({ path: ["customModels"], key: "id", value })),
    },
  ],
  notes: (target) => [
    `Before you start it: ${exportKey(target)}`,
    `Pick the model with /model, or: droid exec --model ${idOf(target.model)} "…"`,
    'In scripts, add --output-format stream-json: as text, droid shows "Exec failed" instead of each error message.',
  ],
  launch: (target, key, { ownFolder }) => {
    const file = join(ownFolder, "run", "droid.json");
    const settings = { customModels: customModels(target), sessionDefaultSettings: { model: idOf(target.model) } };
    return {
      args: ["--settings", file],
      env: { [keyVariable]: key },
      files: [{ file, text: `${JSON.stringify(settings, null, 2)}\n` }],
    };
  },
};

function idOf(model: string): string {
  return `custom:millrace:${model}`;
}

function customModels({ url, models }: Target) {
  return models.map(({ id, name, contextTokens, maxOutputTokens, images }) => ({
    id: idOf(id),
    model: id,
    displayName: `${name} (Millrace)`,
    provider: "generic-chat-completion-api",
    baseUrl: `${url}/v1`,
    apiKey: `\${${keyVariable}}`,
    ...told({ maxContextLimit: contextTokens, maxOutputTokens }),
    noImageSupport: !images,
  }));
}
