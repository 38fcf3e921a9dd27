import { join } from "node:path";
import { type Client, exportKey, keyVariable } from "./client.ts";

/** qwen-code: one provider a model, whose key it reads from a variable that the provider names. Source: qwen-code 0.24.4. */
export const qwenCode: Client = {
  name: "qwen-code",
  title: "Qwen Code",
  programs: ["qwen"],
  edits: ({ url, model, models }, { homeFolder }) => [
    {
      kind: "json",
      file: join(homeFolder, ".qwen", "settings.json"),
      set: [
        ...models.map(({ id, name, contextTokens, maxOutputTokens }) => ({
          path: ["modelProviders", "openai"],
          key: "id",
          value: {
            id,
            name: `${name} (Millrace)`,
            baseUrl: `${url}/v1`,
            envKey: keyVariable,
            generationConfig: {
              ...(contextTokens === undefined ? {} : { contextWindowSize: contextTokens }),
              ...(maxOutputTokens === undefined ? {} : { samplingParams: { max_tokens: maxOutputTokens } }),
            },
          },
        })),
        { path: ["security", "auth", "selectedType"], value: "openai" },
        { path: ["model", "name"], value: model },
      ],
    },
  ],
  notes: (target) => [`Before you start it: ${exportKey(target)}`],
  launch: ({ url, model }, key, args) => ({
    command: "qwen",
    args: ["--auth-type", "openai", "--openai-base-url", `${url}/v1`, "--model", model, ...args],
    env: { OPENAI_API_KEY: key },
  }),
};
