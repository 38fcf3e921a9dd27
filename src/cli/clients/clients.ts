import { join } from "node:path";
import { MillraceError } from "../../base/errors.ts";
import { type Client, exportKey, keyVariable, shellWord, type Target, told, xdgConfig } from "./client.ts";
import { codex } from "./codex.ts";
import { continueDev } from "./continue.ts";
import { droid } from "./droid.ts";
import { kilo, openCode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { shortList } from "./target.ts";
import { zed } from "./zed.ts";

/** Claude Code: its settings name a command that prints the key, so that its files do not hold the key. */
export const claudeCode: Client = {
  name: "claude-code",
  title: "Claude Code",
  programs: ["claude"],
  edits: ({ url, model, keyCommand }, { homeFolder, env }) => [
    {
      kind: "json",
      file: join(env["CLAUDE_CONFIG_DIR"] || join(homeFolder, ".claude"), "settings.json"),
      set: [
        { path: ["apiKeyHelper"], value: keyCommand },
        { path: ["env", "ANTHROPIC_BASE_URL"], value: url },
        { path: ["env", "ANTHROPIC_MODEL"], value: model },
        { path: ["env", "ANTHROPIC_DEFAULT_HAIKU_MODEL"], value: model },
      ],
    },
  ],
  notes: () => [
    "Every session of Claude Code now uses the gateway. `millrace setup claude-code --undo` restores the earlier settings.",
  ],
  launch: ({ url, model }, key) => ({
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    },
  }),
};

/**
 * aider: reads the key from the variable that it reads OpenAI's from, and the limits of models that it does not know from a
 * file beside its configuration.
 */
const aider: Client = {
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
            ...told({ max_input_tokens: contextTokens, max_output_tokens: maxOutputTokens }),
            litellm_provider: "openai",
            mode: "chat",
          },
        })),
    },
  ],
  notes: (target) => [`Before you start it: ${exportKey(target, "OPENAI_API_KEY")}`],
  launch: ({ url, model }, key) => ({
    args: ["--model", `openai/${model}`],
    env: { OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key },
  }),
};

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
  launch: (target, key) => ({
    env: { ...provider(target), COPILOT_PROVIDER_API_KEY: key },
  }),
};

/** It counts the prompt and the answer apart; the list says how long both are together. */
function provider({ url, model, models }: Target): Record<string, string> {
  const { contextTokens, maxOutputTokens } = models.find(({ id }) => id === model) ?? {};
  return {
    COPILOT_PROVIDER_TYPE: "openai",
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    COPILOT_MODEL: model,
    ...(contextTokens && {
      COPILOT_PROVIDER_MAX_PROMPT_TOKENS: `${Math.max(1, contextTokens - (maxOutputTokens ?? 0))}`,
    }),
    ...(maxOutputTokens && { COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: `${maxOutputTokens}` }),
  };
}

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
            generationConfig: told({
              contextWindowSize: contextTokens,
              samplingParams: maxOutputTokens && { max_tokens: maxOutputTokens },
            }),
          },
        })),
        { path: ["security", "auth", "selectedType"], value: "openai" },
        { path: ["model", "name"], value: model },
      ],
    },
  ],
  notes: (target) => [`Before you start it: ${exportKey(target)}`],
  launch: ({ url, model }, key) => ({
    args: ["--auth-type", "openai", "--openai-base-url", `${url}/v1`, "--model", model],
    env: { OPENAI_API_KEY: key },
  }),
};

/** Crush: a provider whose key is the output of a command, which Crush runs itself. */
const crush: Client = {
  name: "crush",
  title: "Crush",
  programs: ["crush"],
  edits: ({ url, models, keyCommand }, machine) => [
    {
      kind: "json",
      file: join(xdgConfig(machine, "crush"), "crush.json"),
      set: [
        {
          path: ["providers", "millrace"],
          value: {
            name: "Millrace",
            type: "openai-compat", // its word for an API that speaks as OpenAI does and is not OpenAI
            base_url: `${url}/v1`,
            api_key: `$(${keyCommand})`,
            models: models.map(({ id, name, contextTokens, maxOutputTokens, images }) => ({
              id,
              name,
              context_window: contextTokens ?? 128_000,
              default_max_tokens: maxOutputTokens ?? 32_768,
              can_reason: false,
              supports_attachments: images,
              // its schema wants prices; the plan is paid for
              cost_per_1m_in: 0,
              cost_per_1m_out: 0,
              cost_per_1m_in_cached: 0,
              cost_per_1m_out_cached: 0,
            })),
          },
        },
      ],
    },
  ],
  notes: () => ["Pick a model of Millrace in Crush with Ctrl-P, Switch Model."],
};

/**
 * Cline in VS Code keeps its settings where no file reaches them. Its command line stores them by `cline auth`, which asks for each. Its
 * flag for the key (`-k`) is not used: other users of the machine can read a program's arguments. Source: cline 3.0.65, `cline auth --help`.
 */
const cline: Client = {
  name: "cline",
  title: "Cline",
  programs: ["cline"],
  notes: ({ url, model, keyCommand }) => [
    "In Cline's settings choose the API provider `OpenAI Compatible`, then type:",
    `  Base URL   ${url}/v1`,
    `  API key    what this prints: ${keyCommand}`,
    `  Model      ${model}`,
    "On the command line: `cline auth` asks for the same. Paste the key there, and do not pass it with `-k`: other users could read it.",
  ],
};

/** Any other client of OpenAI's or Anthropic's API: the values to type into its settings. */
const generic: Client = {
  name: "generic",
  title: "Any other client",
  programs: [],
  notes: ({ url, model, models, keyCommand }) => [
    `Base URL          ${url}/v1`,
    `  for Anthropic's ${url}, and for Ollama's`,
    `API key           what this prints: ${keyCommand}`,
    "Models            of many; `millrace models` lists all:",
    ...shortList(models, model, 3).map(
      ({ id, contextTokens: context, maxOutputTokens: output }) =>
        `  ${[id, context && `context ${context}`, output && `output ${output}`].filter((part) => part !== undefined).join(", ")}`,
    ),
    "In code, with the key in MILLRACE_API_KEY:",
    `  AI SDK          createOpenAICompatible({ name: "millrace", baseURL: "${url}/v1", apiKey: process.env.MILLRACE_API_KEY })`,
    `  LangChain       new ChatOpenAI({ model: "${model}", apiKey: process.env.MILLRACE_API_KEY, configuration: { baseURL: "${url}/v1" } })`,
    `Open WebUI        OPENAI_API_BASE_URL=${url}/v1 OPENAI_API_KEY="$(${keyCommand})" open-webui serve`,
  ],
};

/** Every client that `millrace setup` knows. */
export const clients: readonly Client[] = [
  openCode,
  codex,
  claudeCode,
  copilot,
  qwenCode,
  pi,
  kilo,
  droid,
  aider,
  continueDev,
  cline,
  zed,
  crush,
  generic,
];

/** The client of that name among those that can be meant. Throws `invalid_request` that lists them. */
export function findClient(name: string, meant: readonly Client[] = clients): Client {
  const found = clients.find((client) => client.name === name);
  if (found !== undefined) return found;
  const names = meant.map((client) => client.name).join(", ");
  throw new MillraceError("invalid_request", `There is no client named ${name} here.`, { hint: `One of: ${names}.` });
}
