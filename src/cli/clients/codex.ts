import { join } from "node:path";
import { stringify } from "smol-toml";
import { type Client, exportKey, keyVariable, type ListedModel } from "./client.ts";

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
  edits: ({ url, model, models }, { homeFolder, env }) => [
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
        `env_key = "${keyVariable}"`,
        'wire_api = "responses"',
      ],
    },
  ],
  notes: (target) => [`Before you start it: ${exportKey(target)}`, "Then: codex --profile millrace"],
  launch: ({ url, model, models }, key) => ({
    args: [
      ...["name=Millrace", `base_url=${url}/v1`, `env_key=${keyVariable}`, "wire_api=responses"].flatMap((setting) => {
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
    ],
    env: { [keyVariable]: key },
  }),
};

/** Limits of a model that is not one of Codex, as settings: Codex cannot know them. */
function limitsOf(model: ListedModel | undefined): readonly string[] {
  return model?.contextTokens === undefined ? [] : [`model_context_window = ${model.contextTokens}`];
}

/** A string as TOML writes it; JSON's form differs at DEL. Source: TOML 1.0, "String". */
function toml(text: string): string {
  return stringify({ text }).slice("text = ".length).trimEnd();
}
