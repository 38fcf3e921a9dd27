import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { agentEnvironment } from "../agents/agent-spec.ts";
import { splitCommand } from "../options.ts";
import { noConfig, parseConfig, readConfig } from "./read-config.ts";

const parse = (text: string) => parseConfig(text, "config.toml");

describe("config.toml", () => {
  it("sets nothing where there is none", () => {
    expect(readConfig(join(tmpdir(), "no-such-folder", "config.toml"))).toEqual(noConfig);
  });

  it("is read from its file", () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "config.toml"), '[serve]\nlog_level = "info"\n');
    expect(readConfig(join(folder, "config.toml")).serve).toEqual({ log_level: "info" });
  });

  it("names agents with their command, as text or as words, and what they get of the environment", () => {
    const { agents } = parse(`
      [[agents]]
      name = "opencode"
      command = "opencode acp"
      env = ["OPENAI_API_KEY"]
      [agents.set]
      OPENCODE_CONFIG = "/etc/opencode.json"

      [[agents]]
      name = "goose-2"
      command = ["C:\\\\Program Files\\\\goose.exe", "acp"]
    `);
    expect(agents).toEqual([
      {
        name: "opencode",
        command: ["opencode", "acp"],
        env: ["OPENAI_API_KEY"],
        set: { OPENCODE_CONFIG: "/etc/opencode.json" },
      },
      { name: "goose-2", command: ["C:\\Program Files\\goose.exe", "acp"], env: [], set: {} },
    ]);
  });

  it.each([
    ["agent = []", 'config.toml: there is no setting "agent".', 'Did you mean "agents"?'],
    ['[acp]\ntext = "ask"', 'config.toml: there is no setting "acp".', "The settings there are serve, agents."],
    [
      '[[agents]]\nname = "a"\ncommand = "a"\nenvironment = []',
      'agent 1 has no setting "environment"',
      "name, command",
    ],
    ['[[agents]]\ncommand = "a"', "name of agent 1 needs a name such as opencode", "docs/reference.md"],
    ['[[agents]]\nname = "Open Code"\ncommand = "a"', "name of agent 1 must be 1 to 32 small letters", "docs/"],
    ['[[agents]]\nname = "devin"\ncommand = "a"', "uses itself", "docs/"],
    ['[[agents]]\nname = "a"\ncommand = ""', "command of agent 1 is empty", "docs/"],
    ['[[agents]]\nname = "a"\ncommand = "a \'b"', "command of agent 1 has a quote that is not closed", "docs/"],
    ['[[agents]]\nname = "a"\ncommand = 7', "command of agent 1 must be a command", "docs/"],
    ['[agents]\nname = "a"', "[agents] must be written [[agents]], once for each agent", "docs/"],
    ["serve = 1", "[serve] must be a table", "docs/"],
    ["serve.allow_host = [1]", "allow_host of [serve] must be a text in quotes, a number", "docs/"],
    ['[[agents]]\nname = "a"\ncommand = "a"\nset = { A = 1 }', "set.A of agent 1 must be a text in quotes", "docs/"],
    ["[serve\n", "line 1 is not TOML", "docs/"],
    ['a = "b\n', "line 1 is not TOML (a string has no closing quote on its line)", "docs/"],
    [
      '[[agents]]\nname = "a"\ncommand = "a"\n[[agents]]\nname = "a"\ncommand = "b"',
      'two agents are named "a"',
      "Give each agent",
    ],
  ])("refuses %j and says where and what is right", (text, what, hint) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({
        code: "invalid_request",
        message: expect.stringContaining(what) as string,
        hint: expect.stringContaining(hint) as string,
      }),
    );
  });
});

describe("a command line", () => {
  it.each([
    ["opencode acp", ["opencode", "acp"]],
    ["  a   'b c' \"d 'e'\" '' ", ["a", "b c", "d 'e'", ""]],
    ["C:\\Users\\me\\agent.exe acp", ["C:\\Users\\me\\agent.exe", "acp"]],
    ["", []],
    ["a 'b", undefined],
  ])("%j is split into its words without a shell", (line, words) => {
    expect(splitCommand(line)).toEqual(words);
  });
});

describe("the environment of an agent", () => {
  const environment = {
    PATH: "/bin",
    HOME: "/home/me",
    LC_ALL: "C",
    XDG_DATA_HOME: "/data",
    ACP_BACKEND: "windsurf",
    WINDSURF_API_KEY: "stays here",
    OPENAI_API_KEY: "named",
    AWS_SECRET_ACCESS_KEY: "stays here too",
    HTTPS_PROXY: "http://user:password@proxy",
  };

  it("is an allow-list, with what is named and set", () => {
    const agent = { env: ["OPENAI_API_KEY"], set: { MODE: "1" } };
    expect(agentEnvironment(environment, agent, "linux")).toEqual({
      PATH: "/bin",
      HOME: "/home/me",
      LC_ALL: "C",
      XDG_DATA_HOME: "/data",
      OPENAI_API_KEY: "named",
      HTTPS_PROXY: "http://user:password@proxy",
      NO_PROXY: "127.0.0.1,localhost,::1",
      no_proxy: "127.0.0.1,localhost,::1",
      MODE: "1",
    });
  });

  it("never holds ACP_BACKEND, though it is named or set", () => {
    const agent = { env: ["ACP_BACKEND"], set: { ACP_BACKEND: "windsurf" } };
    expect(agentEnvironment(environment, agent, "linux")).not.toHaveProperty("ACP_BACKEND");
  });

  it("knows names in any case on Windows", () => {
    const windows = { Path: "C:\\bin", SystemRoot: "C:\\Windows", OpenAI_Api_Key: "named", Other: "no" };
    expect(agentEnvironment(windows, { env: ["OPENAI_API_KEY"], set: {} }, "win32")).toEqual({
      Path: "C:\\bin",
      SystemRoot: "C:\\Windows",
      OpenAI_Api_Key: "named",
    });
    expect(agentEnvironment(windows, { env: [], set: {} }, "linux")).toEqual({});
  });
});
