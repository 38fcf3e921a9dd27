import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import { openCodePlugin } from "../package-files.ts";
import {
  type Client,
  exportKey,
  type FileEdit,
  keyVariable,
  type SetValue,
  smallNote,
  type Target,
  xdgConfig,
} from "./client.ts";
import { type ManagedPaths, refuseManaged } from "./managed.ts";

/** How the plugin's address ends: installed or built, and in a clone. */
const pluginEndings = ["/dist/node/opencode.js", "/src/opencode/plugin.ts"];

/** OpenCode: `setup` installs the plugin; `run` sets a provider in the environment. */
export const openCode: Client = {
  name: "opencode",
  title: "OpenCode",
  programs: ["opencode"],
  install: "npm install --global opencode-ai",
  edits: ({ model, small }, machine) =>
    editsOf(xdgConfig(machine, "opencode"), "opencode", [
      { path: ["plugin"], value: openCodePlugin, key: "", formerly: pluginEndings },
      { path: ["model"], value: `millrace/${model}` },
      { path: ["small_model"], value: `millrace/${small}`, ...(small === model ? { ifThere: true as const } : {}) },
    ]),
  notes: (target) => [
    "The plugin finds or starts the gateway by itself; all models of the account are under `millrace/`.",
    ...smallNote(target),
  ],
  launch(target, { variable }, machine) {
    refuseManaged(openCode, managedPaths("opencode"), managedSettings, machine);
    return { env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(fenced(openCodeConfig(target, variable))) } };
  },
};

/**
 * Each value in the file whose value counts. OpenCode reads `.json` and then `.jsonc`: the later value wins, a whole list as well. So a value
 * goes where its member stands last, else into the last file that is there; where none is, into the one that OpenCode itself would make.
 */
function editsOf(folder: string, name: string, values: readonly SetValue[]): readonly FileEdit[] {
  const files = [`${name}.json`, `${name}.jsonc`].map((each) => join(folder, each)).filter((file) => existsSync(file));
  const fileOf = ({ path: [member = ""] }: SetValue) =>
    files.findLast((file) => parse(readFileSync(file, "utf8"))?.[member] !== undefined) ??
    files.at(-1) ??
    join(folder, `${name}.jsonc`);
  return [...Map.groupBy(values, fileOf)].map(([file, set]) => ({ kind: "json", file, set }));
}

/** Settings of an administrator, which win over the variable. Source: opencode.ai/docs/config, "Managed settings". */
const managedSettings = ["model", "small_model", "provider", "enabled_providers", "disabled_providers"];

function managedPaths(product: "opencode" | "kilo"): ManagedPaths {
  const names = product === "kilo" ? ["kilo", "opencode"] : [product]; // Kilo reads its parent's names, too
  const files = names.flatMap((name) => [`${name}.json`, `${name}.jsonc`]);
  return {
    linux: files.map((name) => `etc/${product}/${name}`),
    darwin: [
      ...files.map((name) => `Library/Application Support/${product}/${name}`),
      `Library/Managed Preferences/ai.${product}.managed.plist`,
    ],
    win32: files.map((name) => `C:\\ProgramData\\${product}\\${name}`),
  };
}

/** No other provider, whatever the user's or the project's agents and commands name. */
function fenced(config: ReturnType<typeof openCodeConfig>) {
  const model = { model: config.model };
  const agents = ["build", "plan", "general", "explore"].map((agent) => [agent, model]);
  const small = ["title", "summary", "compaction"].map((agent) => [
    agent,
    { model: agent === "compaction" ? config.model : config.small_model },
  ]);
  return { ...config, enabled_providers: ["millrace"], agent: Object.fromEntries([...agents, ...small]) };
}

/** The gateway as a provider, with the default model. */
function openCodeConfig({ url, model, small, models }: Target, variable: string) {
  const entries = models.map(({ id, name, contextTokens, maxOutputTokens, images }) => [
    id,
    {
      name,
      tool_call: true,
      attachment: images,
      modalities: { input: images ? ["text", "image"] : ["text"], output: ["text"] },
      ...(contextTokens && { limit: { context: contextTokens, output: maxOutputTokens ?? 32_768 } }),
    },
  ]);
  return {
    model: `millrace/${model}`,
    small_model: `millrace/${small}`,
    provider: {
      millrace: {
        npm: "@ai-sdk/openai-compatible",
        name: "Millrace",
        options: { baseURL: `${url}/v1`, apiKey: `{env:${variable}}`, includeUsage: true },
        models: Object.fromEntries(entries),
      },
    },
  };
}

/** Kilo: a fork of OpenCode with other files and variables. Source: kilo 7.7.7. */
export const kilo: Client = {
  name: "kilo",
  title: "Kilo",
  programs: ["kilo"],
  install: "npm install --global @kilocode/cli",
  edits: (target, machine) => {
    const { model, provider } = openCodeConfig(target, keyVariable);
    return editsOf(xdgConfig(machine, "kilo"), "kilo", [
      { path: ["provider", "millrace"], value: provider.millrace },
      { path: ["model"], value: model },
    ]);
  },
  notes: (target) => [`Before you start it: ${exportKey(target)}`],
  launch(target, { variable }, machine) {
    refuseManaged(kilo, managedPaths("kilo"), managedSettings, machine);
    return { env: { KILO_CONFIG_CONTENT: JSON.stringify(fenced(openCodeConfig(target, variable))) } };
  },
};
