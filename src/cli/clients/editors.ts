import { join } from "node:path";
import { loopbackNames } from "../../base/node/loopback.ts";
import {
  type Client,
  definedOnly,
  inFile,
  json,
  limitsOf,
  type Machine,
  npm,
  put,
  type Target,
  usual,
  xdgConfig,
} from "./client.ts";
import { shortList } from "./target.ts";

/**
 * aider has a file for the limits of models that it does not know. Its library, LiteLLM, takes the address from OPENAI_BASE_URL before that of
 * aider's own option (OPENAI_API_BASE). Source: aider.chat/docs, and both projects' code of May 2026, read and not run.
 */
export const aider: Client = {
  name: "aider",
  title: "aider",
  programs: ["aider"],
  takesDoor: true,
  install: "python -m pip install aider-install && aider-install",
  isUntried: true,
  refused: /^--(?:openai-api-base|set-env|model-settings-file)(?:=|$)/,
  edits({ url, model, models }, { value: key }, { homeFolder }) {
    const known = models.filter(({ contextTokens }) => contextTokens !== undefined);
    const limits = known.map(({ id, contextTokens, maxOutputTokens }) => ({
      path: [`openai/${id}`],
      value: {
        ...definedOnly({ max_input_tokens: contextTokens, max_output_tokens: maxOutputTokens }),
        litellm_provider: "openai",
        mode: "chat",
      },
    }));
    return [
      inFile(
        join(homeFolder, ".aider.conf.yml"),
        put("openai-api-base", `${url}/v1`),
        put("openai-api-key", key),
        put("model", `openai/${model}`),
        put("set-env", `OPENAI_BASE_URL=${url}/v1`, { key: "" }),
      ),
      inFile(join(homeFolder, ".aider.model.metadata.json"), ...limits),
    ];
  },
  notes: () => ["A project's own .aider.conf.yml or .env can lead aider elsewhere: use `millrace run aider` there."],
  launch({ url, model }, { value: key, folder }) {
    const base = `${url}/v1`;
    const file = join(folder, "aider.yml");
    // for every model, after all other settings
    const text = json([{ name: "aider/extra_params", extra_params: { api_base: base } }]); // JSON is YAML
    const models = ["--model", "--weak-model", "--editor-model"].flatMap((option) => [option, `openai/${model}`]);
    const address = ["--openai-api-base", base, "--set-env", `OPENAI_BASE_URL=${base}`];
    return {
      // arguments win over its configuration files and over each `.env` that it reads, its own variables over those files
      args: [...models, ...address, "--model-settings-file", file],
      env: { OPENAI_API_BASE: base, OPENAI_BASE_URL: base, OPENAI_API_KEY: key, AIDER_OPENAI_API_KEY: key },
      files: [{ file, text }],
    };
  },
};

/** One model in its configuration, with the members that its schema wants. Source: @continuedev/config-yaml 1.42, `configYamlSchema`. */
export const continueDev: Client = {
  name: "continue",
  title: "Continue",
  programs: ["cn"],
  install: npm("@continuedev/cli"),
  folder: ({ homeFolder }) => join(homeFolder, ".continue"),
  edits: (target, { value: key }, { homeFolder }) => {
    const { contextTokens, maxOutputTokens } = limitsOf(target);
    const limits = definedOnly({ contextLength: contextTokens, maxTokens: maxOutputTokens });
    const model = {
      name: "Millrace",
      provider: "openai",
      model: target.model,
      apiBase: `${target.url}/v1`,
      apiKey: key,
      roles: ["chat", "edit", "apply"],
      capabilities: ["tool_use", "image_input"],
      requestOptions: { noProxy: loopbackNames }, // it reads a proxy from a project's `.env`, too
      ...(Object.keys(limits).length > 0 && { defaultCompletionOptions: limits }),
    };
    const schema = { name: "Millrace", version: "1.0.0", schema: "v1" };
    const head = Object.entries(schema).map(([name, value]) => put(name, value, { unlessThere: true }));
    return [inFile(join(homeFolder, ".continue", "config.yaml"), ...head, put("models", model, { key: "name" }))];
  },
  notes: () => ["Pick the model Millrace in Continue; its command line (`cn`) takes the first model of the list."],
};

/**
 * Cline keeps its settings where no file reaches them. Its flag for the key (`-k`) is not used: other users can read a program's arguments.
 * Source: cline 3.0.65, `cline auth --help`.
 */
export const cline: Client = {
  name: "cline",
  title: "Cline",
  programs: ["cline"],
  install: npm("cline"),
  notes: ({ url, model }, { typed }) => [
    "In Cline's settings choose the API provider `OpenAI Compatible`, then type:",
    `  Base URL   ${url}/v1`,
    `  API key    what this prints: ${typed}`,
    `  Model      ${model}`,
    "On the command line: `cline auth` asks for the same. Paste the key there, and do not pass it with `-k`: other users could read it.",
  ],
  proxyIn: "A project's `.env`",
};

/** Its key is in the system's keychain; `run` starts a Zed with a data folder of its own. Source: zed.dev/docs/ai/use-api-access. */
export const zed: Client = {
  name: "zed",
  title: "Zed",
  programs: ["zed", "zeditor"],
  isUntried: true,
  refused: /^--user-data-dir(?:=|$)/,
  folder: zedFolder,
  edits(target, _key, machine) {
    const provider = put("language_models.openai_compatible.Millrace", zedProvider(target));
    return [inFile(join(zedFolder(machine), "settings.json"), provider)];
  },
  notes: (_target, { typed }) => [
    `In Zed, run \`agent: open settings\`, choose Millrace, and paste what this prints: ${typed}`,
  ],
  proxyIn: "Zed's settings file",
  launch: (target, { variable }, { ownFolder }) => {
    const folder = join(ownFolder, "run", "zed"); // it keeps its conversations there
    // Zed reads a provider's key from its name in capitals and `_API_KEY`
    const [, ...words] = variable
      .replace(/_API_KEY$/, "")
      .toLowerCase()
      .split("_");
    const openai_compatible = { [["Millrace", ...words].join(" ")]: zedProvider(target) };
    return {
      args: ["--foreground", "--user-data-dir", folder],
      files: [
        { file: join(folder, "config", "settings.json"), text: json({ language_models: { openai_compatible } }) },
      ],
    };
  },
};

function zedProvider({ url, models }: Target) {
  return {
    api_url: `${url}/v1`,
    available_models: models.map(({ id, name, contextTokens, maxOutputTokens, images }) => ({
      name: id,
      display_name: name,
      max_tokens: contextTokens ?? usual.context,
      ...definedOnly({ max_output_tokens: maxOutputTokens }),
      capabilities: { tools: true, images, parallel_tool_calls: true, prompt_cache_key: false },
    })),
  };
}

function zedFolder({ homeFolder, env, platform }: Machine): string {
  if (platform !== "win32") return join(homeFolder, ".config", "zed");
  return join(env["APPDATA"] ?? join(homeFolder, "AppData", "Roaming"), "Zed");
}

/** A provider whose key is the output of a command. */
export const crush: Client = {
  name: "crush",
  title: "Crush",
  programs: ["crush"],
  install: npm("@charmland/crush"),
  isUntried: true,
  edits: ({ url, models }, { command }, machine) => {
    const provider = {
      name: "Millrace",
      type: "openai-compat", // its word for an API that speaks as OpenAI does and is not OpenAI
      base_url: `${url}/v1`,
      api_key: `$(${command})`,
      models: models.map(({ id, name, contextTokens, maxOutputTokens, images }) => ({
        id,
        name,
        context_window: contextTokens ?? usual.context,
        default_max_tokens: maxOutputTokens ?? usual.output,
        can_reason: false,
        supports_attachments: images,
        // its schema wants prices; the plan is paid for
        cost_per_1m_in: 0,
        cost_per_1m_out: 0,
        cost_per_1m_in_cached: 0,
        cost_per_1m_out_cached: 0,
      })),
    };
    return [inFile(join(xdgConfig(machine, "crush"), "crush.json"), put("providers.millrace", provider))];
  },
  notes: () => [
    "Pick a model of Millrace in Crush with Ctrl-P, Switch Model.",
    "A project's crush.json runs commands as you, and can lead Crush with this key to another host: start it in projects that you trust.",
  ],
};

/** Any other client of an API that is served: the values to type into its settings. */
export const generic: Client = {
  name: "generic",
  title: "Any other client",
  programs: [],
  notes: ({ url, model, models }, { typed }) => [
    `Base URL          ${url}/v1`,
    `  for Anthropic's ${url}, and for Google's and Ollama's`,
    `API key           what this prints: ${typed}`,
    "Models            of many; `millrace models` lists all:",
    ...shortList(models, model, 3).map(
      ({ id, contextTokens: context, maxOutputTokens: output }) =>
        `  ${[id, context && `context ${context}`, output && `output ${output}`].filter((part) => part !== undefined).join(", ")}`,
    ),
    "In code, with the key in `apiKey`:",
    `  AI SDK          createOpenAICompatible({ name: "millrace", baseURL: "${url}/v1", apiKey })`,
    `  LangChain       new ChatOpenAI({ model: "${model}", apiKey, configuration: { baseURL: "${url}/v1" } })`,
    `  Google Gen AI   new GoogleGenAI({ apiKey, httpOptions: { baseUrl: "${url}" } })`,
    `  @ai-sdk/google  createGoogleGenerativeAI({ apiKey, baseURL: "${url}/v1beta" })`,
    `  Ollama          new Ollama({ host: "${url}", headers: { Authorization: \`Bearer \${apiKey}\` } })`,
    `  ollama (Python) Client(host="${url}", headers={"Authorization": f"Bearer {apiKey}"})`,
    `  ollama-ai-provider-v2  createOllama({ baseURL: "${url}/api", headers: { Authorization: \`Bearer \${apiKey}\` } })`,
    `  ai-sdk-ollama   createOllama({ baseURL: "${url}", apiKey })`,
    "With a field for an address alone, or that look for Ollama (`ollama` itself): `millrace keys add <name> --door 11434` opens an address without a key.",
    "Open WebUI        under Admin Settings, Connections, OpenAI: the base URL and the key",
  ],
};
