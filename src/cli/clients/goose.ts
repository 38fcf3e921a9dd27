import { setVariable } from "../terminal/shell.ts";
import { type Client, exportKey, type Target } from "./client.ts";

/** goose: its variables win over its configuration, also for sub-agents. Source: goose 1.52.0, run. */
export const goose: Client = {
  name: "goose",
  title: "goose",
  programs: ["goose"],
  refused: /^--provider(?:=|$)/,
  notes: (target) => [
    "goose reads its provider from the environment. Put these lines into your shell's start-up file:",
    ...Object.entries(provider(target)).map(([name, value]) => `  ${setVariable(name, value, target.shell)}`),
    `  ${exportKey(target, "OPENAI_API_KEY")}`,
  ],
  launch: (target, key) => ({
    env: {
      OPENAI_CUSTOM_HEADERS: undefined,
      OPENAI_ORGANIZATION: undefined,
      OPENAI_PROJECT: undefined,
      ...provider(target),
      OPENAI_API_KEY: key,
    },
  }),
};

function provider({ url, model, models }: Target): Record<string, string> {
  const { contextTokens } = models.find(({ id }) => id === model) ?? {};
  return {
    GOOSE_PROVIDER: "openai",
    GOOSE_MODEL: model,
    GOOSE_SUBAGENT_PROVIDER: "openai",
    GOOSE_SUBAGENT_MODEL: model,
    OPENAI_HOST: url,
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_BASE_PATH: "v1/chat/completions",
    ...(contextTokens && { GOOSE_CONTEXT_LIMIT: `${contextTokens}` }),
  };
}
