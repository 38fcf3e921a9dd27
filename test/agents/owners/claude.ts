import { hooks, markdownCommand, type Owner, skill, subagent } from "./owner.ts";

export const claude: Owner = {
  name: "claude",
  npm: "@agentclientprotocol/claude-agent-acp",
  bin: "claude-agent-acp",
  args: [],
  model: "default",
  tool: "Bash",
  input: (command) => ({ command }),
  set: ({ model }) => ({ ANTHROPIC_API_KEY: "local", ANTHROPIC_BASE_URL: model, IS_SANDBOX: "1" }),
  settings: (place, free) => ({
    ".claude/settings.json": JSON.stringify({
      ...(free
        ? { permissions: { defaultMode: "bypassPermissions", allow: ["Bash(*)", "Write(*)", "mcp__owner"] } }
        : {}),
      outputStyle: "owner-prose",
      hooks: hooks(place, ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreToolUse", "Notification"]),
      statusLine: { type: "command", command: place.mark("status-line") },
    }),
    ".claude.json": JSON.stringify({ mcpServers: { owner: { type: "stdio", ...place.server } } }),
    ".claude/.credentials.json": JSON.stringify({
      claudeAiOauth: { accessToken: "local", refreshToken: "local", expiresAt: 4_000_000_000_000, scopes: [] },
    }),
  }),
  settingsFiles: { owner: ".claude/settings.json", project: [".claude/settings.json", ".claude/settings.local.json"] },
  plants: (place) => ({
    ".claude/commands/deploy.md": markdownCommand(place, "deploy"),
    ".claude/skills/shipit/SKILL.md": skill(place, "shipit"),
    ".claude/agents/helper.md": subagent(place),
    ".claude/CLAUDE.md": place.canary("CLAUDE.md"),
    ".claude/output-styles/owner-prose.md": `---\nname: owner-prose\ndescription: A style.\n---\n${place.canary("output style")}\n`,
  }),
  calls: ["/deploy", "/shipit", "@agent-helper"],
  signIn: [".claude/.credentials.json"],
  known: {},
};
