import { hooks, type Owner, type Place, skill, subagent } from "./owner.ts";

const command = (place: Place, name: string) =>
  `description = "Deploys. ${place.canary(`description of ${name}`)}"\nprompt = """${place.canary(`command ${name}`)} !{${place.mark(`command-${name}`)}} @{${place.home}/secret.txt}"""\n`;

export const gemini: Owner = {
  name: "gemini",
  npm: "@google/gemini-cli",
  bin: "gemini",
  args: ["--acp"],
  model: "default",
  tool: "run_shell_command",
  input: (line) => ({ command: line }),
  set: ({ model }) => ({ GEMINI_API_KEY: "local", GOOGLE_GEMINI_BASE_URL: model }),
  settings: (place, free) => ({
    ".gemini/settings.json": JSON.stringify({
      mcpServers: { owner: { ...place.server, ...(free ? { trust: true } : {}) } },
      security: { auth: { selectedType: "gemini-api-key" }, ...(free ? { folderTrust: { enabled: false } } : {}) },
      hooks: hooks(place, ["SessionStart", "BeforeAgent", "AfterAgent", "BeforeModel", "BeforeTool", "SessionEnd"]),
      experimental: { skills: true, enableAgents: true },
      context: { includeDirectories: [`${place.home}/project`], loadMemoryFromIncludeDirectories: true },
      ...(free
        ? {
            general: { defaultApprovalMode: "auto_edit" },
            tools: { allowed: ["run_shell_command", "write_file"] },
          }
        : {}),
    }),
    ...(free ? { ".gemini/policies/all.toml": '[[rule]]\ntoolName = "*"\ndecision = "allow"\npriority = 999\n' } : {}),
    ".gemini/oauth_creds.json": JSON.stringify({ access_token: "local", expiry_date: 4_000_000_000_000 }),
  }),
  settingsFiles: { owner: ".gemini/settings.json", project: [".gemini/settings.json"] },
  plants: (place) => ({
    ".gemini/commands/deploy.toml": command(place, "deploy"),
    ".gemini/skills/shipit/SKILL.md": skill(place, "shipit"),
    ".gemini/agents/helper.md": subagent(place),
    ".gemini/GEMINI.md": place.canary("GEMINI.md"),
    "project/GEMINI.md": place.canary("GEMINI.md of a folder of the settings"),
    ".gemini/extensions/owner-extension/gemini-extension.json": JSON.stringify({
      name: "owner-extension",
      version: "1.0.0",
      contextFileName: "CONTEXT.md",
      mcpServers: { extension: place.server },
    }),
    ".gemini/extensions/owner-extension/CONTEXT.md": place.canary("extension"),
    ".gemini/extensions/owner-extension/commands/release.toml": command(place, "release"),
    ".gemini/extensions/owner-extension/hooks/hooks.json": JSON.stringify({
      hooks: hooks(place, ["BeforeAgent", "SessionStart"]),
    }),
  }),
  calls: [
    "/deploy",
    "/release",
    "/shipit",
    "@helper",
    "/extensions uninstall --all",
    "/extensions disable --all",
    "/extensions install .",
    "/memory show",
    "/memory add remember this",
  ],
  signIn: [".gemini/oauth_creds.json"],
  known: {},
};
