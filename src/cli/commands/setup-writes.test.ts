import { existsSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { hasFileModes } from "../../../test/support/file-mode.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { droid } from "../clients/agents.ts";
import { defaultModel, shortList } from "../clients/target.ts";
import { millraceCommand, typedCommand } from "../terminal/own-command.ts";
import { files, home, program } from "./setup-home.fake.ts";

describe("what setup writes", () => {
  const listed = (id: string) => ({ id, name: id, contextTokens: 200_000, maxOutputTokens: 64_000, images: true });

  it.runIf(hasFileModes)("starts Millrace by its whole path where no shell finds it", () => {
    const folder = temporaryFolder();
    const started = { node: "/opt/my node/bin/node", script: "/opt/millrace/bin.js" };
    const command = () => millraceCommand({ env: { PATH: join(folder, "bin") }, platform: "linux" }, started);
    expect(command()).toBe('"/opt/my node/bin/node" "/opt/millrace/bin.js"');
    program(folder, "millrace");
    expect(command()).toBe("millrace");
  });

  it.runIf(hasFileModes)("names a Node that an upgrade leaves in place", () => {
    const folder = temporaryFolder();
    const node = join(folder, "v24.1.0/bin/node");
    mkdirSync(join(folder, "v24.1.0/bin"), { recursive: true });
    writeFileSync(node, "");
    mkdirSync(join(folder, "bin"));
    symlinkSync(node, join(folder, "bin/node"));
    const shell = { env: { PATH: join(folder, "bin"), HOME: folder }, platform: "linux" } as const;
    const command = millraceCommand(shell, { node, script: "/opt/bin.js" });
    expect(command).toBe(`"${join(folder, "bin/node")}" "/opt/bin.js"`);
  });

  it("is not a program that only npm's own PATH has, and in a clone a person types its script", () => {
    const folder = temporaryFolder();
    const programs = join(folder, "node_modules/.bin");
    mkdirSync(programs, { recursive: true });
    writeFileSync(join(programs, "millrace"), "#!/bin/sh\n", { mode: 0o755 });
    const shell = { env: { PATH: programs }, platform: "linux" } as const;
    const clone = { node: "/opt/node", script: "/home/me/millrace/src/cli/bin.ts" };
    expect(millraceCommand(shell, clone)).toBe('"/opt/node" "/home/me/millrace/src/cli/bin.ts"');
    expect(typedCommand(shell, clone)).toBe("npm run -s millrace --");
    const elsewhere = { ...clone, script: "/opt/bin.js" };
    expect(typedCommand(shell, elsewhere)).toBe('"/opt/node" "/opt/bin.js"');
    const typedWith = (env: Record<string, string>) =>
      typedCommand({ platform: "win32", env: { ...env, PATH: programs } }, elsewhere);
    expect(typedWith({})).toBe('& "/opt/node" "/opt/bin.js"'); // PowerShell's operator that calls a text
    expect(typedWith({ PROMPT: "$P$G" })).toBe('"/opt/node" "/opt/bin.js"');
  });

  it("is the chosen model and the first of the gateway's list, or all when asked", async () => {
    const names = ["claude-sonnet-4.6", "gpt-5.10", "kimi-k2", "claude-sonnet-4.5"];
    const few = shortList(names.map(listed), "claude-sonnet-4.5", 3).map(({ id }) => id);
    expect(few).toEqual(["claude-sonnet-4.5", "claude-sonnet-4.6", "gpt-5.10"]);
    expect(shortList(names.map(listed), "gpt-5.10", 2).map(({ id }) => id)).toEqual(["gpt-5.10", "claude-sonnet-4.6"]);
  });

  it("is the account's default model; where it names none, a named one of a family for everyday use, with the reason", () => {
    const of = (...ids: string[]) => defaultModel(ids.map((id) => ({ id })));
    expect(defaultModel([{ id: "a" }, { id: "b", default: true }])).toEqual({ id: "b", why: undefined });
    expect(of("MODEL_PRIVATE_2", "claude-haiku-4.5", "claude-sonnet-4.5", "claude-sonnet-4.6", "gpt-5.5:low")).toEqual({
      id: "claude-sonnet-4.6",
      why: expect.stringContaining("names no default model, so Millrace takes claude-sonnet-4.6."),
    });
    expect(of("MODEL_PRIVATE_2", "kimi-k2").id).toBe("kimi-k2");
    expect(of("MODEL_PRIVATE_2").id).toBe("MODEL_PRIVATE_2");
    expect(() => of()).toThrow("no model that can be called");
  });

  it("has the token limits of the live list", async () => {
    const { millrace, read } = await home();
    const written = async (client: string, name = files[client] ?? "") => {
      expect((await millrace(["setup", client, "--model", "model-a", "--yes"])).code).toBe(0);
      return read(name);
    };
    for (const client of ["qwen-code", "pi", "droid", "continue", "crush"]) {
      const text = await written(client);
      expect([client, text.includes("200000"), text.includes("64000")]).toEqual([client, true, true]);
    }
    expect(await written("codex")).toContain("model_context_window = 200000");
    expect(parse(await written("aider", ".aider.model.metadata.json"))).toMatchObject({
      "openai/model-a": { max_input_tokens: 200_000, max_output_tokens: 64_000 },
    });
    expect((await millrace(["setup", "copilot", "--model", "model-a"])).stdout).toMatch(
      /MAX_PROMPT_TOKENS='136000'[^]*MAX_OUTPUT_TOKENS='64000'[^]*API_KEY_COMMAND='millrace keys --value --for copilot'/,
    );
  });

  it("has each model by the API of its vendor for droid, which warns of every other one in the user's place", () => {
    const models = ["claude-opus-4.6", "gpt-5.5", "kimi-k2"].map(listed);
    const target = { url: "http://x", model: "kimi-k2", models, small: "kimi-k2", newest: {} };
    const key = { value: "k", variable: "K", words: ["k"], command: "k", typed: "k" };
    const machine = { homeFolder: "/home/me", ownFolder: "/home/me/.millrace", env: {}, platform: "linux" } as const;
    const [edit] = droid.edits?.({ ...target, shell: "sh" }, key, machine) ?? [];
    expect(edit?.kind === "json" && edit.set.map(({ value }) => value)).toMatchObject([
      { provider: "anthropic", baseUrl: "http://x" },
      { provider: "openai", baseUrl: "http://x/v1" },
      { provider: "generic-chat-completion-api", baseUrl: "http://x/v1" },
    ]);
  });

  it("is named as what no test has driven, for such a client", async () => {
    const { millrace } = await home();
    const told = async (client: string) => (await millrace(["setup", client, "--yes"])).stderr;
    expect(await told("aider")).toContain("No test of ours has driven aider");
    expect(await told("droid")).not.toContain("driven");
  });

  it("says what to type where the shell's proxy would get the client's requests", async () => {
    const { millrace } = await home();
    const told = async (env: Record<string, string>) => (await millrace(["setup", "codex", "--yes"], env)).stderr;
    const proxy = { HTTPS_PROXY: "http://proxy.example:3128" };
    const whole = "127.0.0.1,localhost,::1";
    expect(await told(proxy)).toContain(`export NO_PROXY='${whole}'`);
    expect(await told({ ...proxy, no_proxy: ".corp" })).toContain(`export no_proxy='.corp,${whole}'`);
    expect(await told({ ...proxy, NO_PROXY: whole })).not.toContain("NO_PROXY");
    expect(await told({})).not.toContain("proxy");
  });

  it("is address, key and three models for any other client", async () => {
    const { millrace, url } = await home();
    const { code, stdout } = await millrace(["setup", "generic"]);
    expect(code).toBe(0);
    expect(stdout).toContain(`${url}/v1`);
    expect(stdout).toContain("millrace keys --value --for generic");
    expect(stdout).toContain("model-a, context 200000, output 64000");
  });

  it.runIf(hasFileModes)("is for every client that is installed, with --all", async () => {
    const { millrace, homeFolder, file } = await home();
    expect((await millrace(["setup", "--all", "--yes"])).code).toBe(1);
    program(homeFolder, "pi");
    program(homeFolder, "droid");
    const done = await millrace(["setup", "--all", "--yes"]);
    expect([done.code, done.stderr]).toEqual([0, expect.stringMatching(/pi is set up[^]*droid is set up/)]);
    const there = () => Object.keys(files).filter((client) => existsSync(file(files[client] ?? "")));
    expect(there()).toEqual(["pi", "droid"]);
    expect((await millrace(["setup", "--all", "--undo", "--yes"])).code).toBe(0);
    expect(there()).toEqual([]);
    expect((await millrace(["setup", "pi", "--all"])).code).toBe(64);
  });
});

/** Files as people write them, with the word that stands for what is added later. */
const written = {
  json: `{\n    // mine\n    "theme": "dark", /* LATER */ "list": [ 1,2 ],\n\n  "env": { "A": "b" }, "n": 1.0,\n}\n`,
  yaml: `# mine, ${"long ".repeat(30)}\nname:   Mine # odd\nlist:\n- one\n- {a: 1,   b: 2}\n\n\n# LATER\ntext: "${"long ".repeat(30)}\\u00e9"\n`,
  toml: `# mine\nmodel = "own" # odd\n# LATER\n[a.b]\nx = 1\n`,
};

describe.each(Object.entries(files))("for %s", (client, name) => {
  const ending = /\.(json|toml|yaml)$/.exec(name.replace("yml", "yaml").replace("jsonc", "json"))?.[1];
  const text = written[ending as keyof typeof written]; // each file has one of these endings

  it("--undo gives an odd file back to the byte, with what was added since; a second setup changes nothing", async () => {
    const { millrace, write, read } = await home();
    write(name, text);
    await millrace(["setup", client, "--yes"]);
    const first = read(name);
    expect((await millrace(["setup", client, "--yes"])).stderr).toContain("already");
    expect(read(name)).toBe(first);
    write(name, first.replace("LATER", "added\u00e9"));
    await millrace(["setup", client, "--undo", "--yes"]);
    expect(read(name)).toBe(text.replace("LATER", "added\u00e9"));
  });

  it.runIf(hasFileModes)("a link to a file that is not there yet stays one", async () => {
    const { millrace, file } = await home();
    mkdirSync(join(file(name), ".."), { recursive: true });
    symlinkSync(file("target"), file(name));
    expect((await millrace(["setup", client, "--yes"])).code).toBe(0);
    expect([lstatSync(file(name)).isSymbolicLink(), existsSync(file("target"))]).toEqual([true, true]);
    await millrace(["setup", client, "--undo", "--yes"]);
    expect([lstatSync(file(name)).isSymbolicLink(), existsSync(file("target"))]).toEqual([true, false]);
  });
});

describe.each(["", "\uFEFF"])("a file of Windows that begins with %j", (mark) => {
  it.each(Object.entries(files))(
    "keeps its form through setup, a further change and --undo for %s",
    async (client, name) => {
      const { millrace, write, read } = await home();
      const text = /\.ya?ml$/.test(name) ? "# Grüße\r\nname: mine\r\n" : '{\r\n  "name": "mine"\r\n}\r\n';
      const before = mark + (name.endsWith(".toml") ? '# Grüße\r\nname = "mine"\r\n' : text);
      write(name, before);
      expect(await millrace(["setup", client, "--yes"])).toMatchObject({ code: 0 });
      const written = read(name);
      expect(written).not.toBe(before);
      expect(written.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
      expect([written.lastIndexOf("\uFEFF"), written.startsWith(mark)]).toEqual([mark.length - 1, true]);
      write(name, written.replace("mine", "yours"));
      await millrace(["setup", client, "--undo", "--yes"]);
      expect(read(name)).toBe(before.replace("mine", "yours"));
    },
  );
});
