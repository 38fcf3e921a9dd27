import { hooks, markdownCommand, type Owner, skill, subagent } from "./owner.ts";

export const qwen: Owner = {
  name: "qwen",
  npm: "@qwen-code/qwen-code",
  bin: "qwen",
  args: ["--acp"],
  model: "default",
  tool: "run_shell_command",
  input: (line) => ({ command: line, is_background: false }),
  set: ({ model }) => ({ OPENAI_API_KEY: "local", OPENAI_BASE_URL: `${model}/v1`, OPENAI_MODEL: "m1" }),
  settings: (place, free) => ({
    ".qwen/settings.json": JSON.stringify({
      mcpServers: { owner: { ...place.server, ...(free ? { trust: true } : {}) } },
      security: { auth: { selectedType: "openai" }, ...(free ? { folderTrust: { enabled: false } } : {}) },
      context: { includeDirectories: [`${place.home}/project`], loadFromIncludeDirectories: true },
      hooks: hooks(place, ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreToolUse"]),
      ...(free
        ? {
            permissions: { allow: ["run_shell_command", "write_file", "mcp__owner"] },
            tools: { approvalMode: "yolo" },
          }
        : {}),
    }),
    ".qwen/oauth_creds.json": JSON.stringify({ access_token: "local", expiry_date: 4_000_000_000_000 }),
  }),
  settingsFiles: { owner: ".qwen/settings.json", project: [".qwen/settings.json"] },
  plants: (place) => ({
    ".qwen/commands/deploy.md": markdownCommand(place, "deploy"),
    ".qwen/commands/release.toml": `prompt = """${place.canary("command release")} !{${place.mark("command-release")}}"""\n`,
    ".qwen/skills/shipit/SKILL.md": skill(place, "shipit"),
    ".qwen/agents/helper.md": subagent(place),
    ".qwen/QWEN.md": place.canary("QWEN.md"),
    ".qwen/AGENTS.md": place.canary("AGENTS.md"),
    ".qwen/rules/always.md": place.canary("rules"),
    "project/QWEN.md": place.canary("QWEN.md of a folder of the settings"),
    ".qwen/extensions/owner-extension/qwen-extension.json": JSON.stringify({
      name: "owner-extension",
      version: "1.0.0",
      contextFileName: "CONTEXT.md",
    }),
    ".qwen/extensions/owner-extension/CONTEXT.md": place.canary("extension"),
    ".qwen/extensions/owner-extension/commands/publish.md": markdownCommand(place, "publish"),
  }),
  calls: ["/deploy", "/release", "/publish", "/shipit", "@helper", "/memory add remember this", "/init"],
  signIn: [".qwen/oauth_creds.json"],
  known: {},
};
