import { stringify } from "smol-toml";
import { isObject, type JsonObject } from "../../../base/json.ts";
import type { KnownAgent } from "./known-agent.ts";
import { merged, picked, readJson } from "./owner.ts";

/** The members of its settings that say where models are, which is meant, and how it signs in. */
const ofModels =
  "model model_provider model_providers model_context_window model_auto_compact_token_limit model_max_output_tokens model_reasoning_effort model_reasoning_summary model_supports_reasoning_summaries model_verbosity oss_provider service_tier openai_base_url chatgpt_base_url forced_login_method forced_chatgpt_workspace_id cli_auth_credentials_store preferred_auth_method";

/** What Codex offers its model, and what else acts on a prompt. All of it is off. Source: docs/dev/wire/acp.md, "Tools of Codex". */
const features =
  "apps browser_use browser_use_external code_mode computer_use goals hooks image_generation in_app_browser memories multi_agent multi_agent_v2 plugins request_permissions_tool shell_tool standalone_web_search tool_suggest unified_exec view_image".split(
    " ",
  );

export const codex: KnownAgent = {
  program: /codex-acp/,
  tried: { "@agentclientprotocol/codex-acp": ["2.6.0", "2.6.0"] },
  npm: "@agentclientprotocol/codex-acp",
  mode: "read-only",
  keeps: /^CODEX_(?:API_KEY|ACCESS_TOKEN|PATH|CA_CERTIFICATE|SANDBOX_NETWORK_DISABLED)$/,
  system: ["/etc/codex", "/Library/Managed Preferences/com.openai.codex.plist", "C:\\ProgramData\\OpenAI\\Codex"],
  // a sign-in that its owner put into the system's keyring is bound to his folder, so it cannot be used
  signIn: [".codex/auth.json"],
  async launch(owner, home) {
    const file = owner.path(".codex/config.toml");
    const { profiles, profile, ...settings } = await owner.toml(file);
    const chosen = isObject(profiles) && typeof profile === "string" ? profiles[profile] : {};
    const given = nested(readJson(owner.variables["CODEX_CONFIG"] ?? "", "CODEX_CONFIG"));
    const theirs = [settings, chosen, given].map((each) => picked(each, ofModels)).reduce(merged, {});
    const text = stringify({ ...theirs, ...ours() });
    return { files: { ".codex/config.toml": text }, environment: { CODEX_HOME: `${home}/.codex` } };
  },
};

function ours(): JsonObject {
  return {
    approval_policy: "on-request",
    sandbox_mode: "read-only",
    notify: [],
    web_search: "disabled",
    check_for_update_on_startup: false,
    project_doc_max_bytes: 0,
    history: { persistence: "none" },
    analytics: { enabled: false },
    features: Object.fromEntries(features.map((feature) => [feature, false])),
    tools: { experimental_request_user_input: { enabled: false }, update_plan: { enabled: false } },
    skills: { bundled: { enabled: false }, include_instructions: false },
  };
}

/** A dotted name is the same as nested ones. */
function nested(config: JsonObject): JsonObject {
  return Object.entries(config).reduce<JsonObject>((all, [key, value]) => {
    const path = key.split(".").reverse();
    return merged(all, path.reduce<unknown>((inner, name) => ({ [name]: inner }), value) as JsonObject); // at least one name
  }, {});
}
