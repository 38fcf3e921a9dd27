import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse } from "smol-toml";
import { afterAll, expect, test } from "vitest";
import { isObject, type JsonObject } from "../../../base/json.ts";
import type { AcpAgentSpec } from "./agent-spec.ts";
import { fitOf, hasNoTools, knownAgents, ownSettings } from "./own-settings.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const agent = (command: string, environment: Readonly<Record<string, string>> = {}): AcpAgentSpec => {
  return { name: "agent", ide: "agent", vendor: "other", command, args: [], environment, folder };
};

/** How an agent starts whose owner has these files and variables. */
async function started(
  command: string,
  files: Readonly<Record<string, string>>,
  variables: Readonly<Record<string, string>> = {},
) {
  const home = mkdtempSync(join(folder, "owner-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  const own = mkdtempSync(join(folder, "own-"));
  const settings = await ownSettings(agent(command, { HOME: home, PATH: "/bin", ...variables }), own);
  const read = (path: string) => readFileSync(join(own, "home", path), "utf8");
  return { ...settings, home, own: join(own, "home"), read };
}

test("Codex knows how its owner signs in and where his model is, and nothing else of him", async () => {
  const toml = `model = "m"
profile = "work"
model_instructions_file = "notes.md"
notify = ["sh"]
[model_providers.mock]
base_url = "http://127.0.0.1:1"
[mcp_servers.files]
command = "files"
[features]
code_mode_only = true
[profiles.work]
model_provider = "mock"
[profiles.work.mcp_servers.tickets]
command = "tickets"`;
  const files = {
    ".codex/config.toml": toml,
    ".codex/auth.json": "{}",
    ".codex/AGENTS.md": "",
    ".codex/memories/a.md": "",
  };
  const given = JSON.stringify({
    model_verbosity: "low",
    "features.shell_tool": true,
    "model_providers.mock.name": "M",
  });
  const { environment, own, read } = await started("codex-acp", files, { CODEX_CONFIG: given, CODEX_HOME: "" });
  const config = parse(read(".codex/config.toml")) as JsonObject;
  expect(config).toMatchObject({
    model: "m",
    model_provider: "mock",
    model_verbosity: "low",
    model_providers: { mock: { base_url: "http://127.0.0.1:1", name: "M" } },
    features: { shell_tool: false },
    notify: [],
  });
  for (const name of ["model_instructions_file", "profiles", "profile", "mcp_servers"])
    expect(config).not.toHaveProperty(name);
  expect(config["features"]).not.toHaveProperty("code_mode_only");
  expect([environment["HOME"], environment["CODEX_HOME"], environment["CODEX_CONFIG"]]).toEqual([
    own,
    `${own}/.codex`,
    undefined,
  ]);
  expect(read(".codex/auth.json")).toBe("{}");
  expect(() => read(".codex/AGENTS.md")).toThrow("ENOENT");
});

test("OpenCode knows its owner's models, with the files that their settings name, and none of his agents", async () => {
  const global = `{ // a comment
    "provider": { "mock": { "options": { "apiKey": "{file:~/key}", "other": "{file:./key}" } }, },
    "agent": { "ask": { "mode": "primary", "permission": { "bash": "allow" } } },
    "plugin": ["evil"], "mcp": { "owner": {} }, "instructions": ["a.md"] }`;
  const named = JSON.stringify({ model: "mock/m", mode: { chat: {} } });
  const files = {
    ".config/opencode/opencode.jsonc": global,
    "named.json": named,
    ".local/share/opencode/auth.json": "{}",
  };
  const first = await started("opencode", files);
  const { environment, home, read, server } = await started("opencode", files, {
    OPENCODE_CONFIG: join(first.home, "named.json"),
    OPENCODE_PERMISSION: "{}",
  });
  const config = JSON.parse(read(".config/opencode/opencode.json")) as unknown;
  expect(config).toEqual({
    provider: { mock: { options: { apiKey: `{file:${home}/key}`, other: `{file:${home}/.config/opencode/key}` } } },
    model: "mock/m",
  });
  expect(JSON.parse(environment["OPENCODE_CONFIG_CONTENT"] ?? "")).toMatchObject({
    permission: { "*": "deny", [`${server}_*`]: "allow" },
  });
  expect([environment["OPENCODE_CONFIG"], environment["OPENCODE_PERMISSION"]]).toEqual([undefined, undefined]);
  expect(read(".local/share/opencode/auth.json")).toBe("{}");
});

test.each([
  ["gemini", ".gemini/settings.json", { security: { auth: { selectedType: "oauth" } } }],
  ["qwen", ".qwen/settings.json", { security: { auth: { selectedType: "oauth" } }, modelProviders: { openai: [] } }],
  ["claude-agent-acp", ".claude/settings.json", { model: "m", apiKeyHelper: "key" }],
] as const)("%s has a file of settings that is ours, with its owner's sign-in", async (command, file, signIn) => {
  const owner = {
    ...signIn,
    mcpServers: { owner: {} },
    mcp: { serverCommand: "x" },
    tools: { discoveryCommand: "x" },
    telemetry: { outfile: "x" },
    agent: "x",
    hooks: {},
    enabledPlugins: {},
    env: { QWEN_SYSTEM_MD: "x", CLAUDE_CODE_ENABLE_TELEMETRY: "1" },
  };
  const { read, own } = await started(
    command,
    { [file]: JSON.stringify(owner) },
    { GEMINI_SYSTEM_MD: "x", QWEN_SYSTEM_MD: "x" },
  );
  const settings: unknown = JSON.parse(read(file));
  expect(settings).toMatchObject(signIn);
  const text = JSON.stringify(settings).replaceAll(own, "");
  for (const word of [
    "mcpServers",
    "serverCommand",
    "discoveryCommand",
    "outfile",
    '"agent":',
    "enabledPlugins",
    "SYSTEM_MD",
    "TELEMETRY",
  ])
    expect(text).not.toContain(word);
});

test("of the variables of an agent only its sign-in and its model reach it, also those of a file", async () => {
  const env = "export GEMINI_API_KEY='local'\nGEMINI_SYSTEM_MD=1\nNODE_OPTIONS=--require=x\n";
  const { environment, read } = await started(
    "gemini",
    { ".gemini/.env": env },
    { GEMINI_CLI_HOME: "", GEMINI_SYSTEM_MD: "1", OTHER: "1", XDG_CONFIG_HOME: "/x" },
  );
  expect(environment).toMatchObject({ GEMINI_API_KEY: "local", OTHER: "1", PATH: "/bin" });
  expect(read("../millrace-empty/.gemini/.env")).toBe(""); // the first one that it finds
  for (const name of ["GEMINI_SYSTEM_MD", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME", "NODE_OPTIONS"])
    expect(environment).not.toHaveProperty(name);
});

test.each([
  ["claude-agent-acp", ".claude/settings.json"],
  ["qwen", ".qwen/settings.json"],
])("of the variables in the settings of %s only those of a sign-in and a model reach it", async (command, file) => {
  const signIn = { ANTHROPIC_BASE_URL: "http://x", OUR_MODELS_API_KEY: "k", HTTPS_PROXY: "http://p" };
  const others = [
    "NODE_OPTIONS",
    "BASH_ENV",
    "LD_PRELOAD",
    "GIT_SSH_COMMAND",
    "OTEL_LOG_USER_PROMPTS",
    "EDITOR",
    "PATH",
  ];
  const env = { ...signIn, ...Object.fromEntries(others.map((name) => [name, "x"])), NO_TEXT_KEY: { a: 1 } };
  const { read } = await started(command, { [file]: JSON.stringify({ env }) });
  const given = (JSON.parse(read(file)) as { readonly env: object }).env;
  expect(given).toMatchObject(signIn);
  for (const name of [...others, "NO_TEXT_KEY"]) expect(given).not.toHaveProperty(name);
});

test("the working folder of a known agent is the root of a project, so that no folder above is looked at", async () => {
  for (const command of ["codex-acp", "claude-agent-acp", "gemini", "qwen", "opencode"])
    expect((await started(command, {})).read("../millrace-empty/.git")).toBe("");
});

test.each(["codex-acp", "claude-agent-acp", "gemini", "qwen", "opencode"])(
  "what %s is started with is what the real one was tried with",
  async (command) => {
    const { home, own, read: _, ...rest } = await started(command, {});
    const files = readdirSync(own, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), "utf8")] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
    const given = JSON.stringify({ ...rest, files: Object.fromEntries(files) }, undefined, 2);
    const told = given.replaceAll(own, "OWN").replaceAll(home, "OWNER").replaceAll(rest.server, "SERVER");
    await expect(`${told}\n`).toMatchFileSnapshot(`./fixtures/${command}.json`);
  },
);

test.each([
  ["claude-agent-acp", "/etc/claude-code/managed-settings.json"],
  ["codex-acp", "/etc/codex/config.toml"],
  ["gemini", "/etc/gemini-cli/policies/all.toml"],
  ["opencode", "/Library/Application Support/opencode/opencode.json"],
])("%s is not started over an administrator's %s, which wins over its fence", async (command, file) => {
  const root = mkdtempSync(join(folder, "root-"));
  mkdirSync(dirname(join(root, file)), { recursive: true });
  const start = () => ownSettings(agent(command, { HOME: root }), mkdtempSync(join(folder, "own-")), root);
  await expect(start()).resolves.toMatchObject({ mode: expect.any(String) as string });
  writeFileSync(join(root, file), "");
  await expect(start()).rejects.toThrow(/^The agent is not started: .* is there\.$/);
});

test("our MCP server has another name at each start", async () => {
  const [one, other] = [await started("qwen", {}), await started("qwen", {})];
  expect(one.server).not.toBe(other.server);
  expect(one.read(".qwen/settings.json")).toContain(`"mcp__${one.server}"`);
});

test("a sign-in that the agent renewed in its own home stays until its owner has a newer one", async () => {
  const owner = mkdtempSync(join(folder, "owner-"));
  mkdirSync(join(owner, ".codex"));
  const [own, auth] = [mkdtempSync(join(folder, "own-")), join(owner, ".codex/auth.json")];
  const start = async () => {
    await ownSettings(agent("codex-acp", { HOME: owner }), own);
    return readFileSync(join(own, "home/.codex/auth.json"), "utf8");
  };
  writeFileSync(auth, "first");
  expect(await start()).toBe("first");
  rmSync(join(own, "home/.codex/auth.json"));
  writeFileSync(join(own, "home/.codex/auth.json"), "renewed");
  expect(await start()).toBe("renewed");
  execFileSync("touch", ["-d", "+1 hour", auth]);
  expect(await start()).toBe("first");
});

test.each([
  [
    "a file that is no TOML",
    "codex-acp",
    { ".codex/config.toml": "[mcp_servers" },
    {},
    /\.codex\/config\.toml cannot be read/,
  ],
  ["a file that is no JSON", "qwen", { ".qwen/settings.json": "{" }, {}, /\.qwen\/settings\.json cannot be read/],
  [
    "a folder in the place of a file",
    "claude-agent-acp",
    { ".claude/settings.json/a": "" },
    {},
    /settings\.json cannot be read/,
  ],
  ["a file without an end", "opencode", {}, { OPENCODE_CONFIG: "/dev/zero" }, /\/dev\/zero cannot be read/],
  ["a variable that is no object", "codex-acp", {}, { CODEX_CONFIG: "[]" }, /CODEX_CONFIG cannot be read/],
] as const)("an agent with %s is reported as that, with the file", async (_, command, files, variables, message) => {
  await expect(started(command, files, variables)).rejects.toThrow(message);
});

test("links that lead nowhere or in a circle, and a large folder of skills, do no harm", async () => {
  const owner = mkdtempSync(join(folder, "owner-"));
  mkdirSync(join(owner, ".codex/skills"), { recursive: true });
  symlinkSync("/", join(owner, ".codex/skills/large"));
  symlinkSync("nowhere", join(owner, ".codex/skills/SKILL.md"));
  symlinkSync("config.toml", join(owner, ".codex/config.toml"));
  const { environment } = await ownSettings(agent("codex-acp", { HOME: owner }), mkdtempSync(join(folder, "own-")));
  expect(environment["CODEX_HOME"]).toBeDefined();
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
const names = knownAgents.flatMap(({ tried }) => Object.keys(tried));

test.each(commands)("%j has the settings of %s, and no other agent runs with them", ([command = "", ...args], own) => {
  const spec = { ...agent(command), args };
  expect(hasNoTools(spec)).toBe(own !== undefined);
  for (const name of [...names, "something", undefined]) {
    const { is } = fitOf(spec, { name, version: "1000.0.0" });
    const isOwn = own === undefined ? !names.includes(name ?? "") : name === own;
    expect([name, is === "tried" || is === "newer"]).toEqual([name, isOwn]);
    expect(fitOf({ ...spec, allowsActions: true }, { name, version: "0" }).is).toBe("tried");
  }
});

test.each([
  ["claude-code-acp", "@zed-industries/claude-code-acp", "0.16.2", "untried"],
  ["codex-acp", "codex-acp", "0.16.0", "untried"],
  ["claude-agent-acp", "@agentclientprotocol/claude-agent-acp", "0.23.1", "older"],
  ["claude-agent-acp", "@agentclientprotocol/claude-agent-acp", undefined, "older"],
  ["qwen", "qwen-code", "0.24.3", "older"],
  ["gemini", "gemini-cli", "0.61.0-nightly.20260909.ged2ac40df", "older"],
  ["gemini", "gemini-cli", "0.61.0", "tried"],
  ["opencode", "OpenCode", "1.18.100", "newer"],
  ["opencode", "OpenCode", "2.0.0", "newer"],
])("%s that says it is %s %s is %s", (command, name, version, is) => {
  expect(fitOf(agent(command), { name, version }).is).toBe(is);
});

test("the versions that are named as tried are those that the suite of the agents installs", () => {
  const versionsIn = (file: string) => {
    const { dependencies }: { dependencies?: unknown } = JSON.parse(
      readFileSync(join(import.meta.dirname, "../../../../test/agents", file), "utf8"),
    ) as object;
    return isObject(dependencies) ? dependencies : {};
  };
  const [newest, oldest] = [versionsIn("package.json"), versionsIn("oldest/package.json")];
  for (const { npm, tried } of knownAgents) expect(Object.values(tried)).toEqual([[oldest[npm], newest[npm]]]);
});
