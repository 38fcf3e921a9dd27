import { join } from "node:path";
import { type Client, keyVariable } from "./client.ts";

/** Continue: one model in its configuration; the key is a secret of its own `.env`. */
export const continueDev: Client = {
  name: "continue",
  title: "Continue",
  edits: ({ url, model }, { homeFolder }) => [
    {
      kind: "yaml",
      file: join(homeFolder, ".continue", "config.yaml"),
      set: [
        // what a configuration of its schema must have. Source: @continuedev/config-yaml 1.42, `configYamlSchema`
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
          },
        },
      ],
    },
  ],
  notes: () => [`Add the key to its secrets: echo "${keyVariable}=$(millrace key --value)" >> ~/.continue/.env`],
};
