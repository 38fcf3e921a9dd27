import type { KnownAgent, Variables } from "./known-agent.ts";

/** Read after the owner's own, which are set in Claude's settings. */
const claudeVariables: Variables = {
  CLAUDE_CODE_DISABLE_ATTACHMENTS: "1",
  CLAUDE_CODE_DISABLE_CLAUDE_MDS: "1",
  CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: "1",
};

export const claude: KnownAgent = {
  name: /claude-(?:agent|code)-acp/,
  // it looks for commands and `@path` in every block of a prompt, and in its model's tool results
  meta: {
    disableBuiltInTools: true,
    claudeCode: {
      options: {
        title: "Millrace",
        tools: [],
        skills: [],
        settingSources: ["user"],
        strictMcpConfig: true,
        verbatimPrompts: true,
        promptSuggestions: false,
        extraArgs: { "disable-slash-commands": null },
        settings: { disableAllHooks: true, outputStyle: "default", env: claudeVariables },
      },
    },
  },
};
