import { join } from "node:path";
import { type Client, exportKey } from "./client.ts";

/**
 * aider: reads the key from the variable that it reads OpenAI's from, and the limits of models that it does not know from a
 * file beside its configuration.
 */
export const aider: Client = {
  name: "aider",
  title: "aider",
  programs: ["aider"],
  edits: ({ url, model, models }, { homeFolder }) => [
    {
      kind: "yaml",
      file: join(homeFolder, ".aider.conf.yml"),
      set: [
        { path: ["openai-api-base"], value: `${url}/v1` },
        { path: ["model"], value: `openai/${model}` },
      ],
    },
    {
      kind: "json",
      file: join(homeFolder, ".aider.model.metadata.json"),
      set: models
        .filter(({ contextTokens }) => contextTokens !== undefined)
        .map(({ id, contextTokens, maxOutputTokens }) => ({
          path: [`openai/${id}`],
          value: {
            max_input_tokens: contextTokens,
            ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
            litellm_provider: "openai",
            mode: "chat",
          },
        })),
    },
  ],
  notes: (target) => [`Before you start it: ${exportKey(target, "OPENAI_API_KEY")}`],
  launch: ({ url, model }, key, args) => ({
    command: "aider",
    args: ["--model", `openai/${model}`, ...args],
    env: { OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key },
  }),
};
