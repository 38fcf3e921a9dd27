import { join } from "node:path";
import type { Client } from "./client.ts";

/** Crush: a provider whose key is the output of a command, which Crush runs itself. */
export const crush: Client = {
  name: "crush",
  title: "Crush",
  programs: ["crush"],
  edits: ({ url, models, keyCommand }, { homeFolder, env }) => [
    {
      kind: "json",
      file: join(env["XDG_CONFIG_HOME"] || join(homeFolder, ".config"), "crush", "crush.json"),
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
