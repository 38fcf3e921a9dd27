import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { claudeCode, claudeElsewhere } from "./claude-code.ts";
import type { Target } from "./client.ts";

const homeFolder = mkdtempSync(join(tmpdir(), "millrace-claude-code-"));
const target: Target = {
  url: "http://127.0.0.1:1",
  model: "m",
  models: [],
  small: "m",
  newest: {},
  shell: "sh",
};

afterEach(() => rmSync(homeFolder, { recursive: true, force: true }));

const key = { value: "k", variable: "V", command: "key", typed: "key", words: ["key"] };

/** What `setup` sets under `env`, for a user with these variables in the settings. */
function setUp(own: Readonly<Record<string, string>>, of = target): Readonly<Record<string, unknown>> {
  mkdirSync(join(homeFolder, ".claude"), { recursive: true });
  writeFileSync(join(homeFolder, ".claude/settings.json"), JSON.stringify({ env: own }));
  const machine = { homeFolder, env: { NO_PROXY: "corp" }, platform: process.platform, ownFolder: homeFolder };
  const [edit] = claudeCode.edits?.(of, key, machine) ?? [];
  if (edit?.kind !== "json") throw new Error("no settings");
  return Object.fromEntries(edit.set.flatMap(({ path: [at, name], value }) => (at === "env" ? [[name, value]] : [])));
}

it("keeps the gateway from a proxy that the user's settings name", () => {
  const exempt = "corp,127.0.0.1,localhost,::1";
  expect(setUp({ HTTP_PROXY: "http://proxy" })).toMatchObject({ NO_PROXY: exempt, no_proxy: exempt });
  expect(setUp({ https_proxy: "http://proxy", NO_PROXY: "*" })).toMatchObject({ NO_PROXY: "*" });
});

it("sets no exemption where the settings name no proxy", () => {
  expect(setUp({ EDITOR: "vi", HTTP_PROXY: "" })).not.toHaveProperty("NO_PROXY");
});

it("names the account's newest model of each family, also where no such variable was there, and no model for all sub-agents", () => {
  const newest = {
    "claude-opus": "claude-opus-4.6",
    "claude-sonnet": "claude-sonnet-4.5",
    "claude-haiku": "claude-haiku-4.5",
  };
  const machine = { homeFolder, env: {}, platform: process.platform, ownFolder: homeFolder };
  const run = { value: "key", variable: "MILLRACE_X_API_KEY", command: "printf key", folder: homeFolder };
  const families = {
    ANTHROPIC_DEFAULT_OPUS_MODEL: "claude-opus-4-6",
    ANTHROPIC_DEFAULT_SONNET_MODEL: "claude-sonnet-4-5",
    ANTHROPIC_DEFAULT_HAIKU_MODEL: "claude-haiku-4-5",
    ANTHROPIC_SMALL_FAST_MODEL: "m",
  };
  const all = { ...families, CLAUDE_CODE_SUBAGENT_MODEL: "" };
  expect(setUp({ CLAUDE_CODE_SUBAGENT_MODEL: "glm" }, { ...target, newest })).toMatchObject(all);
  const { args = [], env } = claudeCode.launch?.({ ...target, newest }, run, machine) ?? { env: {} };
  expect(JSON.parse(args[1] ?? "")).toMatchObject({ env: { ...all, ANTHROPIC_DEFAULT_FABLE_MODEL: "m" } });
  expect(env).toMatchObject(families);
});

const proxy = "http://proxy";
const { url } = target;
const project = join(homeFolder, "project");

it.each<readonly [env: Readonly<Record<string, string>>, found: string | undefined]>([
  [{ ANTHROPIC_BASE_URL: url }, undefined],
  [{ CLAUDE_CODE_USE_VERTEX: "0" }, undefined],
  [{ HTTPS_PROXY: proxy, NO_PROXY: "corp, 127.0.0.1" }, undefined],
  [{ ANTHROPIC_BASE_URL: "https://other.example" }, "ANTHROPIC_BASE_URL"],
  [{ CLAUDE_CODE_USE_BEDROCK: "1" }, "CLAUDE_CODE_USE_BEDROCK"],
  [{ ANTHROPIC_UNIX_SOCKET: "/tmp/other" }, "ANTHROPIC_UNIX_SOCKET"],
  [{ https_proxy: proxy }, "https_proxy"],
  [{ HTTP_PROXY: proxy, NO_PROXY: "127.0.0.1", no_proxy: "corp" }, "HTTP_PROXY"],
])("with %j it is led elsewhere by %s", (env, found) => {
  expect(claudeElsewhere(url, { env, homeFolder, folder: project })).toBe(found);
});

it.each<readonly [own: object, env: Readonly<Record<string, string>>, isElsewhere: boolean]>([
  [{ ANTHROPIC_BASE_URL: "https://other.example" }, {}, true],
  [{ ANTHROPIC_BASE_URL: url }, {}, false],
  [{ HTTP_PROXY: proxy }, {}, true],
  [{ HTTP_PROXY: proxy, NO_PROXY: "127.0.0.1" }, {}, false],
  [{ HTTP_PROXY: proxy }, { NO_PROXY: "*" }, false],
  [{ NO_PROXY: "corp" }, { HTTP_PROXY: proxy, NO_PROXY: "127.0.0.1" }, true],
])("with %j in a project's settings and %j around it, it is led elsewhere: %s", (own, env, isElsewhere) => {
  mkdirSync(join(project, ".claude"), { recursive: true });
  const file = join(project, ".claude", "settings.json");
  writeFileSync(file, JSON.stringify({ env: own }));
  const found = claudeElsewhere(url, { env, homeFolder, folder: join(project, "below") });
  expect(found).toBe(isElsewhere ? file : undefined);
});
