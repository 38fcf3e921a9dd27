import { join } from "node:path";
import { type Client, exportKey, told } from "./client.ts";

/**
 * aider: reads the key from the variable that it reads OpenAI's from, and the limits of models that it does not know from a
 * file beside its configuration. Its library, LiteLLM, takes the address from OPENAI_BASE_URL before that of aider's own option
 * (OPENAI_API_BASE). Source: both projects' code of May 2026, read and not run.
 */
export const aider: Client = {
  name: "aider",
  title: "aider",
  programs: ["aider"],
  install: "python -m pip install aider-install && aider-install",
  refused: /^--(?:openai-api-base|set-env|model-settings-file)(?:=|$)/,
  edits: ({ url, model, models }, { homeFolder }) => [
    {
      kind: "yaml",
      file: join(homeFolder, ".aider.conf.yml"),
      set: [
        { path: ["openai-api-base"], value: `${url}/v1` },
        { path: ["model"], value: `openai/${model}` },
        { path: ["set-env"], value: `OPENAI_BASE_URL=${url}/v1`, key: "" },
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
            ...told({ max_input_tokens: contextTokens, max_output_tokens: maxOutputTokens }),
            litellm_provider: "openai",
            mode: "chat",
          },
        })),
    },
  ],
  notes: (target) => [`Before you start it: ${exportKey(target, "OPENAI_API_KEY")}`],
  launch({ url, model }, { key, folder }) {
    const base = `${url}/v1`;
    const file = join(folder, "aider.yml");
    const whole = [{ name: "aider/extra_params", extra_params: { api_base: base } }]; // for every model, after all other settings
    return {
      // arguments win over its configuration files and over each `.env` that it reads, its own variables over those files
      args: [
        ...["--model", "--weak-model", "--editor-model"].flatMap((option) => [option, `openai/${model}`]),
        "--openai-api-base",
        base,
        "--set-env",
        `OPENAI_BASE_URL=${base}`,
        "--model-settings-file",
        file,
      ],
      env: { OPENAI_API_BASE: base, OPENAI_BASE_URL: base, OPENAI_API_KEY: key, AIDER_OPENAI_API_KEY: key },
      files: [{ file, text: `${JSON.stringify(whole, null, 2)}\n` }], // JSON is YAML
    };
  },
};
