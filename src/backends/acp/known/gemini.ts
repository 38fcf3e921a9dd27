import { join } from "node:path";
import { isObject, writeJson } from "../../../base/json.ts";
import { workingFolder } from "./agent-spec.ts";
import { type KnownAgent, noMemory } from "./known-agent.ts";
import { signInOnly } from "./own-home.ts";
import { picked } from "./owner.ts";

const keeps = /^GEMINI_(?:API_KEY\w*|MODEL|DEFAULT_AUTH_TYPE|CLI_USE_COMPUTE_ADC|CLI_CUSTOM_HEADERS)$/;
const settingsFile = ".gemini/settings.json";
const policy = `[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 998\n\n[[rule]]\nmcpName = "*"\ntoolName = "*"\ndecision = "allow"\npriority = 999\n`;

export const gemini: KnownAgent = {
  program: /gemini/,
  tried: { "gemini-cli": ["0.61.0", "0.61.0"] },
  npm: "@google/gemini-cli",
  mode: "plan",
  keeps,
  // with a policy there it takes none of ours
  system: [
    "/etc/gemini-cli/policies",
    "/Library/Application Support/GeminiCli/policies",
    "C:\\ProgramData\\gemini-cli\\policies",
  ],
  signIn: [".gemini/oauth_creds.json", ".gemini/google_accounts.json"],
  async launch(owner, home, server) {
    const { security, selectedAuthType, model } = await owner.json(owner.path(settingsFile));
    const { auth = { selectedType: selectedAuthType } } = isObject(security) ? security : {};
    const first = (await owner.text(owner.path(".gemini/.env"))) === undefined ? ".env" : ".gemini/.env";
    return {
      files: {
        "policy.toml": policy,
        [`../${workingFolder}/.gemini/.env`]: "", // it looks for one in the folders above, and takes the first
        [settingsFile]: writeJson({
          security: { auth },
          model: picked(model, "name"),
          general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
          privacy: { usageStatisticsEnabled: false },
          hooksConfig: { enabled: false },
          skills: { enabled: false },
          experimental: { enableAgents: false },
          // without a marker it looks in no folder above
          context: { fileName: [noMemory] },
        }),
      },
      // it checks a call of a server a second time under another name of the server, so a rule cannot name ours
      args: ["--admin-policy", join(home, "policy.toml"), "--allowed-mcp-server-names", server, "--extensions", "none"],
      environment: {
        // in place of those of the system too
        GEMINI_CLI_SYSTEM_SETTINGS_PATH: join(home, settingsFile),
        GEMINI_CLI_SYSTEM_DEFAULTS_PATH: join(home, settingsFile),
        ...signInOnly({ ...(await owner.dotenv(owner.path(first))), ...owner.variables }, keeps),
        GEMINI_CLI_TRUST_WORKSPACE: "true", // it starts no server of a session in a folder that it does not trust
      },
    };
  },
};
