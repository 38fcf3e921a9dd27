import { join } from "node:path";
import type { Client } from "./client.ts";

/** Claude Code: its settings name a command that prints the key, so that its files do not hold the key. */
export const claudeCode: Client = {
  name: "claude-code",
  title: "Claude Code",
  programs: ["claude"],
  edits: ({ url, model, keyCommand }, { homeFolder, env }) => [
    {
      kind: "json",
      file: join(env["CLAUDE_CONFIG_DIR"] || join(homeFolder, ".claude"), "settings.json"),
      set: [
        { path: ["apiKeyHelper"], value: keyCommand },
        { path: ["env", "ANTHROPIC_BASE_URL"], value: url },
        { path: ["env", "ANTHROPIC_MODEL"], value: model },
        { path: ["env", "ANTHROPIC_DEFAULT_HAIKU_MODEL"], value: model },
      ],
    },
  ],
  notes: () => [
    "Every session of Claude Code now uses the gateway. `millrace setup claude-code --undo` restores the earlier settings.",
  ],
  launch: ({ url, model }, key, args) => ({
    command: "claude",
    args,
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    },
  }),
};
