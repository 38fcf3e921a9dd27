import { type Client, type ListedModel, shellWord, type Target } from "./client.ts";

/**
 * Copilot CLI: takes a provider of one's own from its environment alone, and then needs no sign-in. Source: Copilot CLI 1.0.102,
 * `copilot help providers`.
 */
export const copilot: Client = {
  name: "copilot",
  title: "Copilot CLI",
  programs: ["copilot"],
  notes: (target) => [
    "Copilot CLI reads a provider from its environment only. Put these lines into your shell's start-up file:",
    ...Object.entries({ ...provider(target), COPILOT_PROVIDER_API_KEY_COMMAND: target.keyCommand }).map(
      ([name, value]) => `  export ${name}=${shellWord(value)}`,
    ),
  ],
  launch: (target, key, args) => ({
    command: "copilot",
    args,
    env: { ...provider(target), COPILOT_PROVIDER_API_KEY: key },
  }),
};

function provider({ url, model, models }: Target): Record<string, string> {
  return {
    COPILOT_PROVIDER_TYPE: "openai",
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    COPILOT_MODEL: model,
    ...limits(models.find(({ id }) => id === model)),
  };
}

/** It counts the prompt and the answer apart; the list says how long both are together. */
function limits(model: ListedModel | undefined): Record<string, string> {
  const { contextTokens, maxOutputTokens } = model ?? {};
  return {
    ...(contextTokens === undefined
      ? {}
      : { COPILOT_PROVIDER_MAX_PROMPT_TOKENS: String(Math.max(1, contextTokens - (maxOutputTokens ?? 0))) }),
    ...(maxOutputTokens === undefined ? {} : { COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: String(maxOutputTokens) }),
  };
}
