import { join } from "node:path";
import { isObject, writeJson } from "../../../base/json.ts";
import type { KnownAgent } from "./known-agent.ts";
import { signInOnly } from "./own-home.ts";
import { picked, type Variables } from "./owner.ts";

/** Read after the owner's own, which are set in Claude's settings. */
const claudeVariables: Variables = {
  CLAUDE_CODE_DISABLE_ATTACHMENTS: "1",
  CLAUDE_CODE_DISABLE_CLAUDE_MDS: "1",
  CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: "1",
};
const keeps =
  /^CLAUDE_CODE_(?:OAUTH_\w+|USE_(?:BEDROCK|VERTEX|FOUNDRY|MANTLE)|SKIP_\w+_AUTH|API_KEY_HELPER_TTL_MS|CLIENT_(?:CERT|KEY)\w*)$/;

export const claude: KnownAgent = {
  program: /claude-(?:agent|code)-acp/,
  tried: { "@agentclientprotocol/claude-agent-acp": ["0.101.0", "0.101.0"] },
  npm: "@agentclientprotocol/claude-agent-acp",
  mode: "plan",
  keeps,
  system: [
    "/etc/claude-code",
    "/Library/Application Support/ClaudeCode",
    "/Library/Managed Preferences/com.anthropic.claudecode.plist",
    "C:\\Program Files\\ClaudeCode",
    "C:\\ProgramData\\ClaudeCode",
  ],
  signIn: [],
  // it finds its sign-in by this variable, so its owner's home can stay, which the keychain of macOS needs
  async launch(owner, home) {
    const settings = await owner.json(owner.path(".claude/settings.json"));
    const state = await owner.json(owner.path(".claude.json"));
    const signIn = picked(
      settings,
      "apiKeyHelper awsAuthRefresh awsCredentialExport gcpAuthRefresh forceLoginMethod model",
    );
    const { env } = settings;
    const variables = signInOnly(isObject(env) ? (env as Variables) : {}, keeps);
    return {
      files: {
        ".claude/settings.json": writeJson({ ...signIn, env: { ...variables, ...claudeVariables } }),
        ".claude/.claude.json": writeJson({
          ...picked(state, "oauthAccount primaryApiKey customApiKeyResponses userID"),
          hasCompletedOnboarding: true,
        }),
      },
      environment: {
        ...claudeVariables,
        HOME: owner.home,
        USERPROFILE: owner.home,
        CLAUDE_CONFIG_DIR: join(home, ".claude"),
        CLAUDE_SECURESTORAGE_CONFIG_DIR: owner.variables["CLAUDE_CONFIG_DIR"] ?? "",
      },
    };
  },
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
