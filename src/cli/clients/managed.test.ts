import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryHome } from "../../../test/support/home.ts";
import type { Target } from "./client.ts";
import { findClient } from "./clients.ts";
import { startOf } from "./managed.ts";

const target: Target = {
  url: "http://127.0.0.1:1",
  model: "m",
  small: "m",
  newest: {},
  models: [],
  shell: "sh",
};

const run = { value: "key", variable: "MILLRACE_X_API_KEY", command: "printf key", folder: "/nowhere" };

function launch(name: string, file: string, text: string, platform: NodeJS.Platform) {
  const home = temporaryHome();
  mkdirSync(dirname(join(home, file)), { recursive: true });
  writeFileSync(join(home, file), text);
  const machine = { homeFolder: home, env: {}, platform, ownFolder: join(home, ".millrace"), systemFolder: home };
  return startOf(findClient(name), target, run, machine);
}

const elsewhere = '{ "env": { "ANTHROPIC_BASE_URL": "https://gateway.example" } }';

describe.runIf(process.platform !== "win32")("an administrator's settings", () => {
  it.each<[string, string, string, NodeJS.Platform, string]>([
    ["claude-code", "etc/claude-code/managed-settings.json", elsewhere, "linux", "env.ANTHROPIC_BASE_URL"],
    ["claude-code", "etc/claude-code/managed-settings.d/9.json", '{ "apiKeyHelper": "x" }', "linux", "apiKeyHelper"],
    [
      "claude-code",
      "Library/Application Support/ClaudeCode/managed-settings.json",
      '{ "env": { "CLAUDE_CODE_USE_BEDROCK": "1" } }',
      "darwin",
      "env.CLAUDE_CODE_USE_BEDROCK",
    ],
    ["codex", "etc/codex/managed_config.toml", 'model_provider = "corp"', "linux", "model_provider"],
    ["opencode", "etc/opencode/opencode.json", '{ "enabled_providers": ["corp"] }', "linux", "enabled_providers"],
    ["kilo", "etc/kilo/opencode.json", '{ "provider": { "corp": {} } }', "linux", "provider"],
    [
      "claude-code",
      "Library/Managed Preferences/com.anthropic.claudecode.plist",
      "bplist00\u0000SenvANTHROPIC_BASE_URL",
      "darwin",
      "env.ANTHROPIC_BASE_URL",
    ],
    [
      "codex",
      "Library/Managed Preferences/com.openai.codex.plist",
      "config_toml_base64",
      "darwin",
      "config_toml_base64",
    ],
    [
      "qwen-code",
      "etc/qwen-code/settings.json",
      '{ "security": { "auth": { "selectedType": "x" } } }',
      "linux",
      "security.auth",
    ],
  ])("of %s in %s are refused by name", (name, file, text, platform, setting) => {
    expect(() => launch(name, file, text, platform)).toThrow(
      new RegExp(`was not started: .*${file} sets ${setting}\\.`),
    );
  });

  it("that lead nowhere else are none of Millrace's business, and stay", () => {
    const file = "etc/claude-code/managed-settings.json";
    const harmless = '{ "permissions": { "deny": ["WebFetch"] }, "env": { "CLAUDE_CODE_USE_BEDROCK": "0" } }';
    expect(launch("claude-code", file, harmless, "linux").args?.[0]).toBe("--settings");
    const qwen = launch("qwen-code", "etc/qwen-code/settings.json", '{ "ui": { "theme": "x" } }', "linux");
    expect(JSON.parse(qwen.files?.[0]?.text ?? "")).toMatchObject({ ui: { theme: "x" }, modelProviders: {} });
  });

  it("are a project's too, for a client that lets these win", () => {
    const folder = temporaryHome();
    mkdirSync(join(folder, ".gemini"));
    writeFileSync(join(folder, ".gemini/settings.json"), '{ "security": { "auth": { "selectedType": "vertex-ai" } } }');
    const before = process.cwd();
    process.chdir(folder);
    try {
      expect(() => launch("gemini-cli", "x", "", "linux")).toThrow(
        "Gemini CLI was not started: .gemini/settings.json sets security.auth.",
      );
    } finally {
      process.chdir(before);
    }
  });
});
