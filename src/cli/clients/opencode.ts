import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import { openCodePlugin } from "../package-files.ts";
import {
  type Client,
  type FileEdit,
  inFile,
  type Machine,
  npm,
  type Policy,
  put,
  type RunKey,
  type SetValue,
  smallNote,
  type Target,
  xdgConfig,
} from "./client.ts";

/** How the plugin's address ends: installed or built, and in a clone. */
const pluginEndings = ["/dist/node/opencode.js", "/src/opencode/plugin.ts"];

export const openCode = withPlugin("opencode", "OpenCode", "opencode-ai", ["opencode"]);

/** A fork of OpenCode with other files and variables, which reads its parent's names too. Source: kilo 7.7.7. */
export const kilo = withPlugin("kilo", "Kilo", "@kilocode/cli", ["kilo", "opencode"]);

/** `setup` installs the plugin, which alone has the key and sends it to nobody else; `run` sets a provider in the environment. */
function withPlugin(name: string, title: string, packageName: string, files: readonly string[]): Client {
  return {
    name,
    title,
    programs: [name],
    install: npm(packageName),
    isKeyless: true,
    managed: managedBy(name, files),
    edits: (target, _key, machine) => pluginIn(name, target, machine),
    notes: (target) => [
      "The plugin finds or starts the gateway by itself; all models of the account are under `millrace/`.",
      ...smallNote(target),
    ],
    launch: (target, run) => ({ env: { [`${name.toUpperCase()}_CONFIG_CONTENT`]: fenced(target, run) } }),
  };
}

/**
 * The plugin and the models, each in the file whose value counts. OpenCode reads `.json` and then `.jsonc`: the later value wins, a whole list as well. So a value
 * goes where its member stands last, else into the last file that is there; where none is, into the one that OpenCode itself would make.
 */
function pluginIn(name: string, { model, small }: Target, machine: Machine): readonly FileEdit[] {
  const values = [
    put("plugin", openCodePlugin, { key: "", formerly: pluginEndings }),
    put("model", `millrace/${model}`),
    put("small_model", `millrace/${small}`, small === model ? { ifThere: true } : {}),
  ];
  const [json, jsonc] = [`${name}.json`, `${name}.jsonc`].map((each) => join(xdgConfig(machine, name), each));
  const files = [json, jsonc].filter((file = "") => existsSync(file));
  const fileOf = ({ path: [member = ""] }: SetValue) =>
    files.findLast((file = "") => parse(readFileSync(file, "utf8"))?.[member] !== undefined) ?? files.at(-1) ?? jsonc;
  return [...Map.groupBy(values, fileOf)].map(([file = "", set]) => inFile(file, ...set));
}

/** Settings of an administrator, which win over the variable. Source: opencode.ai/docs/config, "Managed settings". */
function managedBy(product: string, names: readonly string[]): Policy {
  const files = names.flatMap((name) => [`${name}.json`, `${name}.jsonc`]);
  return {
    settings: ["model", "small_model", "provider", "enabled_providers", "disabled_providers"],
    paths: {
      linux: files.map((name) => `etc/${product}/${name}`),
      darwin: [
        ...files.map((name) => `Library/Application Support/${product}/${name}`),
        `Library/Managed Preferences/ai.${product}.managed.plist`,
      ],
      win32: files.map((name) => `C:\\ProgramData\\${product}\\${name}`),
    },
  };
}

/** No other provider, even if an agent or a command of the user or the project names one. */
function fenced(target: Target, { variable }: RunKey): string {
  const config = openCodeConfig(target, `{env:${variable}}`);
  const agents = (names: readonly string[], model: string) => names.map((agent) => [agent, { model }]);
  const agent = Object.fromEntries([
    ...agents(["build", "plan", "general", "explore", "compaction"], config.model),
    ...agents(["title", "summary"], config.small_model),
  ]);
  return JSON.stringify({ ...config, enabled_providers: ["millrace"], agent });
}

/** The gateway as a provider, with the default model. */
function openCodeConfig({ url, model, small, models }: Target, apiKey: string) {
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
        options: { baseURL: `${url}/v1`, apiKey, includeUsage: true },
        models: Object.fromEntries(entries),
      },
    },
  };
}
