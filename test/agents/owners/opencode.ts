import { markdownCommand, type Owner, skill, subagent } from "./owner.ts";

export const opencode: Owner = {
  name: "opencode",
  npm: "opencode-ai",
  bin: "opencode",
  args: ["acp"],
  model: "mock/m1",
  tool: "bash",
  input: (command) => ({ command, description: "a command" }),
  set: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1" }),
  settings: (place, free) => ({
    ".config/opencode/opencode.json": JSON.stringify({
      $schema: "https://opencode.ai/config.json", // else it writes it there
      autoupdate: false,
      share: "disabled",
      enabled_providers: ["mock"],
      model: "mock/m1",
      small_model: "mock/m1",
      instructions: [`${place.home}/instructions.md`],
      mcp: Object.fromEntries(
        ["owner", "millrace-x"].map((name) => [
          name,
          { type: "local", command: [place.server.command, ...place.server.args], enabled: true },
        ]),
      ),
      ...(free
        ? {
            permission: { edit: "allow", bash: "allow", "owner_*": "allow", "millrace-x_*": "allow" },
            agent: Object.fromEntries(
              ["plan", "ask", "chat", "read-only", "readonly"].map((name) => [
                name,
                { mode: "primary", prompt: place.canary(`prompt of ${name}`), permission: { "*": "allow" } },
              ]),
            ),
          }
        : {}),
      provider: {
        mock: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: `${place.model}/v1`, apiKey: "local" },
          models: { m1: { name: "M 1" }, m2: { name: "M 2" } },
        },
      },
    }),
    ".local/share/opencode/auth.json": JSON.stringify({ mock: { type: "api", key: "local" } }),
  }),
  settingsFiles: { owner: ".config/opencode/opencode.json", project: ["opencode.json", ".opencode/opencode.json"] },
  plants: (place) => ({
    ".config/opencode/command/deploy.md": markdownCommand(place, "deploy"),
    ".config/opencode/skill/shipit/SKILL.md": skill(place, "shipit"),
    ".claude/skills/shipclaude/SKILL.md": skill(place, "shipclaude"),
    ".config/opencode/plugin/owner.js": `import { execSync } from "node:child_process";\nexport const Owner = async () => (execSync(${JSON.stringify(place.mark("plugin"))}), {});\n`,
    ".config/opencode/tool/owner.js": `import { execSync } from "node:child_process";\nexecSync(${JSON.stringify(place.mark("tool-file"))});\nexport default { description: "Marks.", args: {}, execute: async () => "" };\n`,
    ".config/opencode/agent/helper.md": subagent(place),
    ".config/opencode/AGENTS.md": place.canary("AGENTS.md"),
    "instructions.md": place.canary("instructions of the settings"),
    ".claude/CLAUDE.md": place.canary("CLAUDE.md"),
  }),
  calls: ["/deploy", "/shipit", "/shipclaude", "@helper"],
  signIn: [".local/share/opencode/auth.json"],
  known: {},
};
