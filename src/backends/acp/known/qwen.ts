import { writeJson } from "../../../base/json.ts";
import { type KnownAgent, noMemory } from "./known-agent.ts";
import { serverName } from "./tool-names.ts";

/** Tools of Qwen Code that `tools.core` does not take away. */
const qwenTools =
  "agent ask_user_question enter_plan_mode enter_worktree exit_plan_mode exit_worktree get_goal list_agents record_artifact report_findings send_message skill task_stop update_goal".split(
    " ",
  );

export const qwen: KnownAgent = {
  name: /qwen/,
  servesSince: "0.24",
  args: () => ["--extensions", "none"],
  environment: (file) => ({ QWEN_CODE_SYSTEM_SETTINGS_PATH: file }),
  file: writeJson({
    tools: { core: ["none"], approvalMode: "plan", toolSearch: { enabled: false }, disabled: qwenTools },
    memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false, enableAutoSkill: false },
    permissions: { allow: [`mcp__${serverName}`] },
    mcp: { allowed: [serverName] },
    skills: { disabledLevels: ["user", "project", "extension", "bundled"] },
    context: { fileName: [noMemory] },
    disableAllHooks: true,
  }),
};
