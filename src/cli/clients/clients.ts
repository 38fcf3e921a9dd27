import { join } from "node:path";
import { MillraceError } from "../../base/errors.ts";
import { setFromCommand, setVariable } from "../terminal/shell.ts";
import { aider } from "./aider.ts";
import { claudeCode } from "./claude-code.ts";
import {
  type Client,
  exemptionNotes,
  keyVariable,
  type Machine,
  shellLines,
  type Target,
  xdgConfig,
} from "./client.ts";
import { codex } from "./codex.ts";
import { continueDev } from "./continue.ts";
import { droid } from "./droid.ts";
import { goose } from "./goose.ts";
import { kilo, openCode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { qwenCode } from "./qwen-code.ts";
import { shortList } from "./target.ts";
import { zed } from "./zed.ts";

/**
 * Copilot CLI: takes a provider of one's own from its environment alone, and then needs no sign-in. Source: Copilot CLI 1.0.102,
 * `copilot help providers`.
 */
export const copilot: Client = {
  name: "copilot",
  title: "Copilot CLI",
  programs: ["copilot"],
  install: "npm install --global @github/copilot",
  notes: (target, env) => [
    "Copilot CLI reads a provider from its environment only. Put these lines into your shell's start-up file:",
    ...shellLines({ ...provider(target), COPILOT_PROVIDER_API_KEY_COMMAND: target.keyCommand }, ofProvider(env), {
      env,
      shell: target.shell,
    }),
  ],
  launch: (target, { command }, { env }) => ({
    env: {
      ...Object.fromEntries(ofProvider(env).map((name) => [name, undefined])),
      ...provider(target),
      COPILOT_PROVIDER_API_KEY_COMMAND: command,
    },
  }),
};

function ofProvider(env: Machine["env"]): readonly string[] {
  return Object.keys(env).filter((name) => name.startsWith("COPILOT_PROVIDER_"));
}

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

/** Crush: a provider whose key is the output of a command, which Crush runs itself. */
const crush: Client = {
  name: "crush",
  title: "Crush",
  programs: ["crush"],
  install: "npm install --global @charmland/crush",
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
  install: "npm install --global cline",
  notes: ({ url, model, keyCommand, shell }, env) => [
    "In Cline's settings choose the API provider `OpenAI Compatible`, then type:",
    `  Base URL   ${url}/v1`,
    `  API key    what this prints: ${keyCommand}`,
    `  Model      ${model}`,
    "On the command line: `cline auth` asks for the same. Paste the key there, and do not pass it with `-k`: other users could read it.",
    ...exemptionNotes("A project's `.env`", { shell }, env),
  ],
};

/** Any other client of an API that is served: the values to type into its settings. */
const generic: Client = {
  name: "generic",
  title: "Any other client",
  programs: [],
  notes: ({ url, model, models, keyCommand, keyWords, shell }) => [
    `Base URL          ${url}/v1`,
    `  for Anthropic's ${url}, and for Google's and Ollama's`,
    `API key           what this prints: ${keyCommand}`,
    "Models            of many; `millrace models` lists all:",
    ...shortList(models, model, 3).map(
      ({ id, contextTokens: context, maxOutputTokens: output }) =>
        `  ${[id, context && `context ${context}`, output && `output ${output}`].filter((part) => part !== undefined).join(", ")}`,
    ),
    `In code, with the key in ${keyVariable} (${setFromCommand(keyVariable, keyWords, shell)}):`,
    `  AI SDK          createOpenAICompatible({ name: "millrace", baseURL: "${url}/v1", apiKey: process.env.MILLRACE_API_KEY })`,
    `  LangChain       new ChatOpenAI({ model: "${model}", apiKey: process.env.MILLRACE_API_KEY, configuration: { baseURL: "${url}/v1" } })`,
    `  Google Gen AI   new GoogleGenAI({ apiKey: process.env.MILLRACE_API_KEY, httpOptions: { baseUrl: "${url}" } })`,
    `  @ai-sdk/google  createGoogleGenerativeAI({ apiKey: process.env.MILLRACE_API_KEY, baseURL: "${url}/v1beta" })`,
    `  Ollama          new Ollama({ host: "${url}", headers: { Authorization: \`Bearer \${process.env.MILLRACE_API_KEY}\` } })`,
    `  ollama (Python) Client(host="${url}", headers={"Authorization": f"Bearer {os.environ['MILLRACE_API_KEY']}"})`,
    `  ollama-ai-provider-v2  createOllama({ baseURL: "${url}/api", headers: { Authorization: \`Bearer \${process.env.MILLRACE_API_KEY}\` } })`,
    `  ai-sdk-ollama   createOllama({ baseURL: "${url}", apiKey: process.env.MILLRACE_API_KEY })`,
    "With a field for an address alone, or that look for Ollama (`ollama` itself): `millrace keys add <name> --door 11434` opens an address without a key.",
    "Open WebUI        start it with these, then `open-webui serve`:",
    `  ${setVariable("OPENAI_API_BASE_URL", `${url}/v1`, shell)}`,
    `  ${setFromCommand("OPENAI_API_KEY", keyWords, shell)}`,
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
  goose,
  aider,
  continueDev,
  cline,
  zed,
  crush,
  generic,
];

/** The client of that name among those that can be meant. Throws `invalid_request` that lists them. */
export function findClient(name: string, meant: readonly Client[] = clients): Client {
  const typed = name.toLowerCase().replaceAll(/[ _]/g, "-");
  const found = clients.find((client) => client.name === typed || client.aliases?.includes(typed) === true);
  if (found !== undefined) return found;
  if (/^cursor(-|$)/.test(typed))
    throw new MillraceError(
      "invalid_request",
      "Cursor cannot use Millrace: Cursor's own servers call the models, and they cannot reach 127.0.0.1 of your machine.",
      { hint: "Use another client, also in Cursor's terminal: `millrace run codex`, or `millrace run claude-code`." },
    );
  const names = meant.map((client) => client.name).join(", ");
  throw new MillraceError("invalid_request", `There is no client named ${name} here.`, { hint: `One of: ${names}.` });
}
