import { join } from "node:path";
import { stringify } from "smol-toml";
import { isObject } from "../../base/json.ts";
import {
  type Client,
  definedOnly,
  inFile,
  json,
  limitsOf,
  linesIn,
  type Machine,
  none,
  npm,
  put,
  shellLines,
  type Target,
  usual,
  xdgConfig,
} from "./client.ts";
import { inSystemSettings } from "./managed.ts";

/** A profile in a separate file: Codex refuses `[profiles.…]` in `config.toml`, and reads `--profile millrace` from this one. */
export const codex: Client = {
  name: "codex",
  title: "Codex",
  programs: ["codex"],
  install: npm("@openai/codex"),
  refused:
    /^--(?:oss|local-provider)(?:=|$)|^(?:(?:-c|--config)[= ]?)?(?:model_providers?|openai_base_url|chatgpt_base_url)\b.*=/,
  // source: developers.openai.com/codex, "Managed configuration"
  managed: {
    settings: ["model_provider", "model_providers", "openai_base_url", "profile", "config_toml_base64"],
    paths: {
      linux: ["etc/codex/managed_config.toml"],
      darwin: ["etc/codex/managed_config.toml", "Library/Managed Preferences/com.openai.codex.plist"],
      win32: [],
    },
  },
  edits(target, { words }, { homeFolder, env, platform }) {
    const settings = stringify(codexSettings(target, { auth: programOf(words, platform) }));
    const file = join(env["CODEX_HOME"] || join(homeFolder, ".codex"), "millrace.config.toml");
    return [linesIn(file, settings.trimEnd().split("\n"))];
  },
  notes: () => ["Start it with: codex --profile millrace"],
  launch: (target, { variable }) => ({
    args: dotted(codexSettings(target, { env_key: variable })).flatMap((setting) => ["-c", setting]),
  }),
};

/** Its web search is a hosted tool, which Millrace cannot run; Codex offers it to every model unless it is disabled. */
function codexSettings(target: Target, key: object) {
  return {
    model_provider: "millrace",
    model: target.model,
    ...definedOnly({ model_context_window: limitsOf(target).contextTokens }),
    web_search: "disabled",
    model_providers: { millrace: { name: "Millrace", base_url: `${target.url}/v1`, wire_api: "responses", ...key } },
  };
}

/** On Windows a script of npm is started by the shell only. */
function programOf(words: readonly string[], platform: NodeJS.Platform) {
  const [command, ...args] =
    words[0] === "millrace" && platform === "win32" ? ["cmd.exe", "/d", "/c", ...words] : words;
  return { command, args };
}

/** Each value as TOML, with its dotted path. */
function dotted(values: object, path = ""): readonly string[] {
  return Object.entries(values).flatMap(([name, value]: [string, unknown]) =>
    isObject(value) ? dotted(value, `${path}${name}.`) : [path + stringify({ [name]: value }).trimEnd()],
  );
}

/** Copilot CLI takes a provider from its environment alone. Source: 1.0.102, `copilot help providers`. */
export const copilot: Client = {
  name: "copilot",
  title: "Copilot CLI",
  programs: ["copilot"],
  install: npm("@github/copilot"),
  notes: (target, { command }, env) => [
    "Copilot CLI reads a provider from its environment only. Put these lines into your shell's start-up file:",
    ...shellLines(copilotVariables(target, command), ofProvider(env), { env, shell: target.shell }),
  ],
  launch: (target, { command }, { env }) => ({
    env: { ...none(ofProvider(env)), ...copilotVariables(target, command) },
  }),
};

function ofProvider(env: Machine["env"]): readonly string[] {
  return Object.keys(env).filter((name) => name.startsWith("COPILOT_PROVIDER_"));
}

/** It counts the prompt and the answer apart; the list says how long both are together. */
function copilotVariables(target: Target, command: string): Record<string, string> {
  const { contextTokens, maxOutputTokens } = limitsOf(target);
  return {
    COPILOT_PROVIDER_TYPE: "openai",
    COPILOT_PROVIDER_BASE_URL: `${target.url}/v1`,
    COPILOT_MODEL: target.model,
    ...(contextTokens && {
      COPILOT_PROVIDER_MAX_PROMPT_TOKENS: `${Math.max(1, contextTokens - (maxOutputTokens ?? 0))}`,
    }),
    ...(maxOutputTokens && { COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: `${maxOutputTokens}` }),
    COPILOT_PROVIDER_API_KEY_COMMAND: command,
  };
}

/** One provider a model. Its key is a variable, which its settings can set. Source: qwen-code 0.24.4. */
export const qwenCode: Client = {
  name: "qwen-code",
  title: "Qwen Code",
  programs: ["qwen"],
  install: npm("@qwen-code/qwen-code"),
  refused: /^--(?:openai-base-url|openaiBaseUrl|auth-type|authType|proxy)(?:=|$)/,
  managed: {
    settings: ["modelProviders", "security.auth"],
    variable: "QWEN_CODE_SYSTEM_SETTINGS_PATH",
    paths: {
      linux: ["etc/qwen-code/settings.json"],
      darwin: ["Library/Application Support/QwenCode/settings.json"],
      win32: ["C:\\ProgramData\\qwen-code\\settings.json"],
    },
  },
  edits({ url, model, models }, { value: key, variable }, { homeFolder }) {
    const providers = models.map(({ id, name, contextTokens, maxOutputTokens }) => ({
      id,
      name: `${name} (Millrace)`,
      baseUrl: `${url}/v1`,
      envKey: variable,
      generationConfig: definedOnly({
        contextWindowSize: contextTokens,
        samplingParams: maxOutputTokens && { max_tokens: maxOutputTokens },
      }),
    }));
    return [
      inFile(
        join(homeFolder, ".qwen", "settings.json"),
        ...providers.map((provider) => put("modelProviders.openai", provider, { key: "id" })),
        put(`env.${variable}`, key),
        put("security.auth.selectedType", "openai"),
        put("model.name", model),
      ),
    ];
  },
  notes: () => ["All of these models are in Qwen Code's list under `/model`."],
  proxyIn: "A settings file of Qwen Code",
  // a provider of the user's or the project's that has this model's name would win over the arguments
  launch: ({ url, model }, run, machine) => {
    const provider = { id: model, name: model, baseUrl: `${url}/v1`, envKey: run.variable };
    const security = { auth: { selectedType: "openai", baseUrl: `${url}/v1` } };
    return {
      args: ["--auth-type", "openai", "--openai-base-url", `${url}/v1`, "--model", model],
      ...inSystemSettings(qwenCode, { modelProviders: { openai: [provider] }, security }, run, machine),
    };
  },
};

/** A provider in its list of models. Source: the page on models in the package of pi 0.86.1. */
export const pi: Client = {
  name: "pi",
  title: "pi",
  programs: ["pi"],
  install: npm("@earendil-works/pi-coding-agent"),
  refused: /^--provider(?:=|$)/,
  edits: (target, { command }, { homeFolder, env }) => {
    const folder = env["PI_CODING_AGENT_DIR"] || join(homeFolder, ".pi", "agent");
    const preferred = [put("defaultProvider", "millrace"), put("defaultModel", target.model)];
    return [
      inFile(join(folder, "models.json"), put("providers.millrace", piProvider(target, `!${command}`))),
      inFile(join(folder, "settings.json"), ...preferred),
    ];
  },
  notes: () => ["All of these models are in pi's list under `/model`."],
  proxyIn: "A settings file of pi",
  launch: (target, { variable, folder }) => {
    const file = join(folder, "pi.js");
    const registered = JSON.stringify(piProvider(target, `$${variable}`), null, 2);
    return {
      args: ["--extension", file, "--provider", "millrace", "--model", target.model],
      files: [{ file, text: `export default (pi) => pi.registerProvider("millrace", ${registered});\n` }],
    };
  },
};

function piProvider({ url, models }: Target, apiKey: string) {
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
      // its extensions must say all of these
      contextWindow: contextTokens ?? usual.context,
      maxTokens: maxOutputTokens ?? 16_384,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    })),
  };
}

/** Models of one's own in its settings, whose key stands there or in a variable. Source: droid 0.215.0; docs.factory.ai, "BYOK". */
export const droid: Client = {
  name: "droid",
  title: "droid",
  programs: ["droid"],
  install: npm("droid"),
  refused: /^--settings(?:=|$)/,
  edits(target, { value: key }, { homeFolder }) {
    const models = droidModels(target, key).map((model) => put("customModels", model, { key: "id" }));
    return [inFile(join(homeFolder, ".factory", "settings.json"), ...models)];
  },
  notes: ({ model }) => [
    `Pick the model with /model, or: droid exec --model custom:millrace:${model} "…"`,
    'In scripts, add --output-format stream-json: as text, droid shows "Exec failed" instead of each error message.',
  ],
  launch: (target, { variable, folder }) => {
    const file = join(folder, "droid.json");
    const sessionDefaultSettings = { model: `custom:millrace:${target.model}` };
    const text = json({ customModels: droidModels(target, `\${${variable}}`), sessionDefaultSettings });
    return { args: ["--settings", file], files: [{ file, text }] };
  },
};

function droidModels({ url, models }: Target, apiKey: string) {
  return models.map(({ id, name, contextTokens, maxOutputTokens, images }) => ({
    id: `custom:millrace:${id}`,
    model: id,
    displayName: `${name} (Millrace)`,
    ...droidApi(id, url),
    apiKey,
    ...definedOnly({ maxContextLimit: contextTokens, maxOutputTokens }),
    noImageSupport: !images,
  }));
}

/** The API of a model's own vendor: of each other one droid warns in the user's place, in every session. Source: droid 0.215.0. */
function droidApi(model: string, url: string): { readonly provider: string; readonly baseUrl: string } {
  if (/claude|haiku|sonnet|opus/i.test(model)) return { provider: "anthropic", baseUrl: url };
  if (/gpt/i.test(model)) return { provider: "openai", baseUrl: `${url}/v1` };
  return { provider: "generic-chat-completion-api", baseUrl: `${url}/v1` };
}

/** Variables of another account of goose's OpenAI provider. */
const ofAnotherAccount = ["OPENAI_CUSTOM_HEADERS", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"];

/** `setup` writes a provider of one's own; for `run` the variables of its OpenAI provider win over its configuration. Source: goose 1.52.0, run. */
export const goose: Client = {
  name: "goose",
  title: "goose",
  programs: ["goose"],
  takesDoor: true,
  refused: /^--provider(?:=|$)/,
  edits: ({ url, model, models }, { value: key }, machine) => {
    const folder = xdgConfig(machine, "goose");
    const provider = {
      name: "millrace",
      engine: "openai",
      display_name: "Millrace",
      description: "The models of the IDE on this machine",
      api_key_env: "",
      requires_auth: false,
      base_url: `${url}/v1/chat/completions`,
      headers: { Authorization: `Bearer ${key}` },
      models: models.map(({ id, contextTokens }) => ({ name: id, context_limit: contextTokens ?? usual.context })),
      supports_streaming: true,
    };
    return [
      inFile(
        join(folder, "custom_providers", "millrace.json"),
        ...Object.entries(provider).map(([name, value]) => put(name, value)),
      ),
      inFile(join(folder, "config.yaml"), put("GOOSE_PROVIDER", "millrace"), put("GOOSE_MODEL", model)),
    ];
  },
  notes: (target, _key, env) => {
    const values = { GOOSE_PROVIDER: "millrace", GOOSE_MODEL: target.model };
    const winning = Object.fromEntries(Object.entries(values).filter(([name]) => env[name]));
    if (Object.keys(winning).length === 0) return ["goose now begins each session with this model."];
    return [
      "Your shell's variables win over it. Put these lines into your shell's start-up file:",
      ...shellLines(winning, [], { env, shell: target.shell }),
    ];
  },
  launch: (target, { value: key }) => {
    const { url, model } = target;
    const { contextTokens } = limitsOf(target);
    return {
      env: {
        ...none(ofAnotherAccount),
        GOOSE_PROVIDER: "openai",
        GOOSE_MODEL: model,
        GOOSE_SUBAGENT_PROVIDER: "openai",
        GOOSE_SUBAGENT_MODEL: model,
        OPENAI_HOST: url,
        OPENAI_BASE_URL: `${url}/v1`,
        OPENAI_BASE_PATH: "v1/chat/completions",
        OPENAI_API_KEY: key,
        ...(contextTokens && { GOOSE_CONTEXT_LIMIT: `${contextTokens}` }),
      },
    };
  },
};

/** Variables that would lead Gemini CLI to another service or account. An empty one wins over a project's `.env`. */
const ofGoogle = ["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_API_KEY", "GEMINI_CLI_CUSTOM_HEADERS"];

/**
 * Address and key are variables with names of its own; `setup` writes them into its `.env`. `run` starts one with a home of its own, because its
 * owner's sign-in would win over the variables. It takes settings of a system from root alone. Source: gemini-cli 0.61.0, run and read.
 */
export const geminiCli: Client = {
  name: "gemini-cli",
  aliases: ["gemini"],
  title: "Gemini CLI",
  programs: ["gemini"],
  takesDoor: true,
  install: npm("@google/gemini-cli"),
  managed: {
    settings: ["security.auth"],
    variable: "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    ofProject: ".gemini/settings.json",
    paths: {
      linux: ["etc/gemini-cli/settings.json"],
      darwin: ["Library/Application Support/GeminiCli/settings.json"],
      win32: ["C:\\ProgramData\\gemini-cli\\settings.json"],
    },
  },
  edits: ({ url, model }, { value: key }, { homeFolder, env }) => {
    const folder = join(env["GEMINI_CLI_HOME"] || homeFolder, ".gemini");
    const lines = [`GOOGLE_GEMINI_BASE_URL=${url}`, `GEMINI_API_KEY=${key}`];
    const chosen = [put("security.auth.selectedType", "gemini-api-key"), put("model.name", model)];
    return [linesIn(join(folder, ".env"), lines), inFile(join(folder, "settings.json"), ...chosen)];
  },
  notes: () => [
    "It applies in folders that you trust, without an `.env` of their own. `millrace run gemini-cli` works in all, with a home of its own: your extensions and notes are not there.",
    "Gemini CLI reads its key from GEMINI_API_KEY alone. The settings of a project that you trust could send this key to a server of theirs.",
  ],
  proxyIn: "A project's `.env`",
  launch: ({ url, model }, { value }, { ownFolder }) => {
    const home = join(ownFolder, "run", "gemini-cli"); // it keeps its conversations there
    const emptied = Object.fromEntries(ofGoogle.map((name) => [name, ""]));
    const addresses = { GOOGLE_GEMINI_BASE_URL: url, GOOGLE_VERTEX_BASE_URL: url };
    return {
      args: ["--model", model],
      env: { ...emptied, ...addresses, GEMINI_CLI_HOME: home, GEMINI_API_KEY: value },
      files: [
        {
          file: join(home, ".gemini", "settings.json"),
          text: json({ security: { auth: { selectedType: "gemini-api-key" } } }),
        },
      ],
    };
  },
};
