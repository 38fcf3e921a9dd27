import { join } from "node:path";
import { loopbackNames } from "../../base/node/loopback.ts";
import { addToFile } from "../terminal/shell.ts";
import { type Client, keyVariable, type ListedModel, told } from "./client.ts";

/** Continue: one model in its configuration; the key is a secret in its `.env`. */
export const continueDev: Client = {
  name: "continue",
  title: "Continue",
  programs: ["cn"],
  install: "npm install --global @continuedev/cli",
  folder: ({ homeFolder }) => join(homeFolder, ".continue"),
  edits: ({ url, model, models }, { homeFolder }) => [
    {
      kind: "yaml",
      file: join(homeFolder, ".continue", "config.yaml"),
      set: [
        // members that a configuration of its schema must have. Source: @continuedev/config-yaml 1.42, `configYamlSchema`
        { path: ["name"], value: "Millrace", unlessThere: true },
        { path: ["version"], value: "1.0.0", unlessThere: true },
        { path: ["schema"], value: "v1", unlessThere: true },
        {
          path: ["models"],
          key: "name",
          value: {
            name: "Millrace",
            provider: "openai",
            model,
            apiBase: `${url}/v1`,
            apiKey: `\${{ secrets.${keyVariable} }}`,
            roles: ["chat", "edit", "apply"],
            capabilities: ["tool_use", "image_input"],
            requestOptions: { noProxy: loopbackNames }, // it reads a proxy from a project's `.env`, too
            ...limitsOf(models.find(({ id }) => id === model)),
          },
        },
      ],
    },
  ],
  notes: ({ keyWords, shell }) => [
    `Add the key to its secrets: ${addToFile(keyVariable, keyWords, [".continue", ".env"], shell)}`,
    "Then pick the model Millrace in Continue; its command line (`cn`) takes the first model of the list.",
  ],
};

function limitsOf(model: ListedModel | undefined): object {
  const limits = told({ contextLength: model?.contextTokens, maxTokens: model?.maxOutputTokens });
  return Object.keys(limits).length === 0 ? {} : { defaultCompletionOptions: limits };
}
