import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { AcpAgentSpec } from "./agent-spec.ts";
import { hasNoTools, isAsStarted, ownSettings, servesTools } from "./own-settings.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-"));
const agent = (command: string, environment: Readonly<Record<string, string>> = {}): AcpAgentSpec => {
  return { name: "agent", ide: "agent", vendor: "other", command, args: [], environment, folder };
};

/** What `CODEX_CONFIG` holds for an owner with this configuration. */
async function codexConfig(toml: string, given: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const home = mkdtempSync(join(folder, "home-"));
  mkdirSync(join(home, ".codex"));
  writeFileSync(join(home, ".codex/config.toml"), toml);
  const { environment } = await ownSettings(agent("codex-acp", { HOME: home, ...given }), folder);
  return JSON.parse(environment["CODEX_CONFIG"] ?? "");
}

test("Codex starts without the MCP servers of its owner, wherever he named them", async () => {
  const toml = '[mcp_servers.files]\ncommand = "files"\n[profiles.work.mcp_servers.tickets]\ncommand = "tickets"\n';
  const given = JSON.stringify({ model: "m", "mcp_servers.mail.command": "mail", mcp_servers: { web: {} } });
  const config = await codexConfig(toml, { CODEX_CONFIG: given });
  expect(config).toMatchObject({ model: "m", approval_policy: "on-request" });
  expect(config).toHaveProperty("mcp_servers", { files: { enabled: false }, tickets: { enabled: false } });
  const inFolder = readFileSync(join(folder, "millrace-empty/.codex/config.toml"), "utf8");
  expect(inFolder).toContain('[mcp_servers."files"]\nenabled = false');
});

test("Codex starts without its tools, and nothing that its user wrote gives them back", async () => {
  const given = {
    "features.shell_tool": true,
    features: { unified_exec: true, fast_mode: true },
    "tools.update_plan.enabled": true,
  };
  const config = await codexConfig("", { CODEX_CONFIG: JSON.stringify(given) });
  expect(config).toMatchObject({
    features: { shell_tool: false, unified_exec: false, fast_mode: true },
    tools: { update_plan: { enabled: false } },
    notify: [],
  });
  expect(Object.keys(config as object).filter((key) => key.includes("."))).toEqual([]);
});

test("Codex starts without the skills of its owner, which a `$name` in a text would bring in", async () => {
  const home = mkdtempSync(join(folder, "home-"));
  const files = [".codex/skills/ship/SKILL.md", ".agents/skills/deep/er/SKILL.md"].map((file) => join(home, file));
  for (const file of files) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "");
  }
  const { environment } = await ownSettings(agent("codex-acp", { HOME: home }), folder);
  const config = JSON.parse(environment["CODEX_CONFIG"] ?? "") as object;
  expect(config).toHaveProperty(
    "skills.config",
    files.map((path) => ({ path, enabled: false })),
  );
});

test("OpenCode reads empty notes in place of its owner's, unless he named a folder of settings himself", async () => {
  const { environment } = await ownSettings(agent("opencode"), folder);
  const own = environment["OPENCODE_CONFIG_DIR"] ?? "";
  expect(readFileSync(join(own, "AGENTS.md"), "utf8")).toBe("");
  expect(readFileSync(join(own, "package-lock.json"), "utf8")).toContain("@opencode-ai/plugin");
  const named = await ownSettings(agent("opencode", { OPENCODE_CONFIG_DIR: "/theirs" }), folder);
  expect(named.environment["OPENCODE_CONFIG_DIR"]).toBe("/theirs");
});

/** The words of a command, and the agent whose settings it gets; undefined for none. */
const commands: readonly (readonly [readonly string[], string | undefined])[] = [
  [["opencode", "acp", "--cwd", "/home/me/qwen-play"], "OpenCode"],
  [["/opt/gemini/bin/opencode", "acp"], "OpenCode"],
  [["C:\\tools\\opencode.exe", "acp"], "OpenCode"],
  [["npx", "-y", "@agentclientprotocol/codex-acp@latest"], "@agentclientprotocol/codex-acp"],
  [["env", "HOME=/home/gemini", "npx", "--yes", "@google/gemini-cli", "--acp"], "gemini-cli"],
  [["node", "--no-warnings", "/usr/lib/node_modules/.bin/qwen", "--acp"], "qwen-code"],
  [["bunx", "@agentclientprotocol/claude-agent-acp"], "@agentclientprotocol/claude-agent-acp"],
  [["/home/me/qwen/agent", "--model", "gemini", "opencode"], undefined],
];
const names = [
  "OpenCode",
  "@agentclientprotocol/codex-acp",
  "gemini-cli",
  "qwen-code",
  "@agentclientprotocol/claude-agent-acp",
];

test.each(commands)("%j has the settings of %s, and no other agent runs with them", ([command = "", ...args], own) => {
  const spec = { ...agent(command), args };
  expect(hasNoTools(spec)).toBe(own !== undefined);
  for (const says of [...names, "something", undefined]) {
    const isOwn = own === undefined ? !names.includes(says ?? "") : says === own;
    expect([says, isAsStarted(spec, says)]).toEqual([says, isOwn]);
    expect(isAsStarted({ ...spec, allowsActions: true }, says)).toBe(true);
  }
});

test.each([
  ["a file that is no TOML", "[mcp_servers", {}, /config\.toml cannot be read/],
  ["a variable that is no object", "", { CODEX_CONFIG: "[]" }, /CODEX_CONFIG of an agent is not a JSON object/],
] as const)("Codex is not started with %s", async (_, toml, given, message) => {
  await expect(codexConfig(toml, given)).rejects.toThrow(message);
});

test.each([
  ["codex-acp", "2.6.0", true],
  ["codex-acp", "2.10.1", true],
  ["codex-acp", "0.16.0", false],
  ["codex-acp", undefined, false],
  ["qwen", "0.15.10", false],
  ["gemini", "0.61.0", true],
  ["opencode", undefined, true],
  ["unknown", undefined, true],
])("models of %s %s call a client's tools: %j", (command, version, serves) => {
  expect(servesTools(agent(command), version)).toBe(serves);
});
