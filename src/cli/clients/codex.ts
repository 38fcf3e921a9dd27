import { join } from "node:path";
import { stringify } from "smol-toml";
import type { Client, ListedModel } from "./client.ts";
import { type ManagedPaths, refuseManaged } from "./managed.ts";

/** Its web search is a hosted tool, which Millrace cannot run. Codex offers it to every model unless this setting disables it. */
const withoutWebSearch = ['web_search = "disabled"'];

/**
 * Codex: a profile in a separate file, so that the user's configuration and default stay. Source: Codex 0.169, which refuses
 * `[profiles.…]` in `config.toml` and reads `--profile millrace` from `millrace.config.toml` beside it.
 */
export const codex: Client = {
  name: "codex",
  title: "Codex",
  programs: ["codex"],
  install: "npm install --global @openai/codex",
  refused:
    /^--(?:oss|local-provider)(?:=|$)|^(?:(?:-c|--config)[= ]?)?(?:model_providers?|openai_base_url|chatgpt_base_url)\b.*=/,
  edits: ({ url, model, models, keyWords }, { homeFolder, env }) => [
    {
      kind: "block",
      file: join(env["CODEX_HOME"] || join(homeFolder, ".codex"), "millrace.config.toml"),
      lines: [
        'model_provider = "millrace"',
        `model = ${toml(model)}`,
        ...limitsOf(models.find(({ id }) => id === model)),
        ...withoutWebSearch,
        "",
        "[model_providers.millrace]",
        'name = "Millrace"',
        `base_url = ${toml(`${url}/v1`)}`,
        'wire_api = "responses"',
        "",
        "[model_providers.millrace.auth]",
        ...authLines(keyWords),
      ],
    },
  ],
  notes: () => ["Start it with: codex --profile millrace"],
  launch({ url, model, models }, { variable }, machine) {
    refuseManaged(codex, managedPaths, managedSettings, machine);
    const args = [
      ...["name=Millrace", `base_url=${url}/v1`, `env_key=${variable}`, "wire_api=responses"].flatMap((setting) => {
        const [name = "", value = ""] = setting.split(/=(.*)/s);
        return ["-c", `model_providers.millrace.${name}=${toml(value)}`];
      }),
      "-c",
      'model_provider="millrace"',
      "-c",
      `model=${toml(model)}`,
      ...[...limitsOf(models.find(({ id }) => id === model)), ...withoutWebSearch].flatMap((setting) => [
        "-c",
        setting,
      ]),
    ];
    return { args, env: {} };
  },
};

/** Settings of an administrator, which win over `-c`. Source: developers.openai.com/codex, "Managed configuration". */
const managedSettings = ["model_provider", "model_providers", "openai_base_url", "profile", "config_toml_base64"];
const managedPaths: ManagedPaths = {
  linux: ["etc/codex/managed_config.toml"],
  darwin: ["etc/codex/managed_config.toml", "Library/Managed Preferences/com.openai.codex.plist"],
  win32: [],
};

/** The program that prints the key. On Windows a script of npm is started by the shell only. */
function authLines([program = "", ...args]: readonly string[]): readonly string[] {
  const words = program === "millrace" && process.platform === "win32" ? ["cmd.exe", "/d", "/c", program] : [program];
  const [command = "", ...before] = words;
  return [`command = ${toml(command)}`, `args = [${[...before, ...args].map(toml).join(", ")}]`];
}

/** Limits of a model that is not one of Codex, as settings: Codex cannot know them. */
function limitsOf(model: ListedModel | undefined): readonly string[] {
  return model?.contextTokens === undefined ? [] : [`model_context_window = ${model.contextTokens}`];
}

/** A string as TOML writes it; JSON's form differs at DEL. Source: TOML 1.0, "String". */
function toml(text: string): string {
  return stringify({ text }).slice("text = ".length).trimEnd();
}
