import { join } from "node:path";
import { isObject, writeJson } from "../../../base/json.ts";
import { workingFolder } from "./agent-spec.ts";
import { type KnownAgent, noMemory } from "./known-agent.ts";
import { signInOnly } from "./own-home.ts";
import { picked, type Variables } from "./owner.ts";

/** Tools of Qwen Code that `tools.core` does not take away. */
const qwenTools =
  "agent ask_user_question enter_plan_mode enter_worktree exit_plan_mode exit_worktree get_goal list_agents record_artifact report_findings send_message skill task_stop update_goal".split(
    " ",
  );
const keeps = /^QWEN_(?:API_KEY|MODEL|DEFAULT_AUTH_TYPE|TLS_INSECURE|CODE_LANG)$/;
const settingsFile = ".qwen/settings.json";

export const qwen: KnownAgent = {
  program: /qwen/,
  tried: { "qwen-code": ["0.24.4", "0.24.4"] },
  npm: "@qwen-code/qwen-code",
  mode: "plan",
  keeps,
  signIn: [".qwen/oauth_creds.json"],
  async launch(owner, home, server) {
    const { security, modelProviders, model, env, selectedAuthType } = await owner.json(owner.path(settingsFile));
    const { auth = { selectedType: selectedAuthType } } = isObject(security) ? security : {};
    const signIn = {
      ...(await owner.dotenv(owner.path(".env"))),
      ...(await owner.dotenv(owner.path(".qwen/.env"))),
      ...(isObject(env) ? (env as Variables) : {}),
    };
    const file = join(home, settingsFile);
    return {
      args: ["--extensions", "none"],
      files: {
        [`../${workingFolder}/.qwen/.env`]: "", // it looks for one in the folders above, and takes the first
        [settingsFile]: writeJson({
          $version: 4,
          security: { auth },
          ...(modelProviders === undefined ? {} : { modelProviders }),
          model: picked(model, "name"),
          env: signInOnly(signIn, keeps),
          general: { enableAutoUpdate: false, disableAutoUpdate: true },
          privacy: { usageStatisticsEnabled: false },
          tools: { core: ["none"], approvalMode: "plan", toolSearch: { enabled: false }, disabled: qwenTools },
          memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false, enableAutoSkill: false },
          permissions: { allow: [`mcp__${server}`] },
          mcp: { allowed: [server] },
          skills: { disabledLevels: ["user", "project", "extension", "bundled"] },
          context: { fileName: [noMemory] },
          disableAllHooks: true,
        }),
      },
      // in place of those of the system too
      environment: { QWEN_CODE_SYSTEM_SETTINGS_PATH: file, QWEN_CODE_SYSTEM_DEFAULTS_PATH: file },
    };
  },
};
