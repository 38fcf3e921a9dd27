import { type Client, exportKey, shellLines, type Target } from "./client.ts";

/** goose: its variables win over its configuration, also for sub-agents. Source: goose 1.52.0, run. */
export const goose: Client = {
  name: "goose",
  title: "goose",
  programs: ["goose"],
  refused: /^--provider(?:=|$)/,
  notes: (target, env) => [
    "goose reads its provider from the environment. Put these lines into your shell's start-up file:",
    ...shellLines(provider(target), ofAnother, { env, shell: target.shell }),
    `  ${exportKey(target, "OPENAI_API_KEY")}`,
  ],
  launch: (target, { key }) => ({
    env: {
      ...Object.fromEntries(ofAnother.map((name) => [name, undefined])),
      ...provider(target),
      OPENAI_API_KEY: key,
    },
  }),
};

/** Variables of another account of this provider. */
const ofAnother = ["OPENAI_CUSTOM_HEADERS", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"];

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
