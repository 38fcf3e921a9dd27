import { join } from "node:path";
import { type Client, exportKey, keyVariable } from "./client.ts";

/** aider: reads the key from the variable that it reads OpenAI's from. */
export const aider: Client = {
  name: "aider",
  title: "aider",
  edits: ({ url, model }, { homeFolder }) => [
    {
      kind: "yaml",
      file: join(homeFolder, ".aider.conf.yml"),
      set: [
        { path: ["openai-api-base"], value: `${url}/v1` },
        { path: ["model"], value: `openai/${model}` },
      ],
    },
  ],
  notes: () => [`Before you start it: ${exportKey} OPENAI_API_KEY="$${keyVariable}"`],
  launch: ({ url, model }, key, args) => ({
    command: "aider",
    args: ["--model", `openai/${model}`, ...args],
    env: { OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key },
  }),
};
