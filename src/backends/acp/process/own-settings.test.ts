import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AcpAgentSpec } from "./agent-spec.ts";
import { ownSettings, servesTools } from "./own-settings.ts";

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
  expect(await codexConfig(toml, { CODEX_CONFIG: given })).toMatchObject({
    model: "m",
    approval_policy: "on-request",
    ...Object.fromEntries(["files", "tickets", "mail", "web"].map((name) => [`mcp_servers.${name}.enabled`, false])),
  });
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
  const abilities = { name: command, version, canLoad: false, canDelete: false, canClose: false, canTitle: false };
  expect(servesTools(agent(command), { ...abilities, takesImages: false })).toBe(serves);
});
