import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { hasFileModes } from "../../../test/support/file-mode.ts";
import { clients } from "../clients/clients.ts";
import { openCodePlugin } from "../package-files.ts";
import { files, home, key } from "./setup-home.fake.ts";

describe("millrace setup", () => {
  it("knows a file of every client that has one", () => {
    expect(
      clients
        .filter(({ edits, programs }) => edits !== undefined && programs.length > 0) // the meter has a test of its own
        .map(({ name }) => name)
        .sort(),
    ).toEqual(Object.keys(files).sort());
  });

  for (const [client, name] of Object.entries(files)) {
    it(`makes, repeats and takes back the changes for ${client}, in a new file`, async () => {
      const { millrace, file, read } = await home();
      const made = await millrace(["setup", client, "--yes"]);
      expect([made.code, made.stderr]).toEqual([0, expect.stringContaining("is set up")]);
      expect(made.stdout).toContain(`${file(name)} (new)`);
      const once = read(name);
      await millrace(["setup", client, "--yes"]);
      expect(read(name)).toBe(once);
      expect(once).not.toContain(key);
      await millrace(["setup", client, "--undo", "--yes"]);
      expect(existsSync(file(name))).toBe(false);
    });
  }

  it.each(clients.filter(({ isKeyless }) => !isKeyless).map(({ name }) => name))(
    "gives %s a key of its own, and names no variable that can be guessed",
    async (client) => {
      const { millrace, homeFolder, file, read } = await home();
      const { stdout, stderr } = await millrace(["setup", client, "--yes"]);
      const own = /\.millrace[\\/](?:key|gateway\.json|setup[\\/].*)$/;
      const written = readdirSync(homeFolder, { recursive: true, encoding: "utf8" })
        .filter((name) => statSync(file(name)).isFile() && !own.test(name))
        .map((name) => ({ name, text: read(name) }));
      const texts = [stdout, stderr, ...written.map(({ text }) => text)].join("\n");
      expect(texts).not.toContain(key);
      const names = texts.match(/\b[A-Z]\w*_API_KEY\b/g) ?? [];
      // Gemini CLI takes its key from this variable alone; its notes say so
      const known = client === "gemini-cli" ? "GEMINI_API_KEY" : /^MILLRACE_[A-Z]{16}_API_KEY$/;
      for (const name of names) expect(name).toMatch(known);
      const value = async () => (await millrace(["keys", "--value", "--for", client])).stdout.trim();
      const issued = await value();
      expect(issued).toMatch(/^mrk_[\w-]{43}$/);
      expect(stdout + stderr).not.toContain(issued);
      const holders = written.filter(({ text }) => text.includes(issued)).map(({ name }) => name);
      expect(holders.filter((name) => hasFileModes && (statSync(file(name)).mode & 0o777) !== 0o600)).toEqual([]);
      await millrace(["setup", client, "--yes", "--model", "model-a"]);
      expect(await value()).toBe(issued);
      expect((await millrace(["keys"])).stdout).toContain(`${client} (setup)`);
      await millrace(["setup", client, "--undo", "--yes"]);
      expect(await value()).toBe("");
      expect((await millrace(["keys", "--json", "--all"])).stdout).toMatch(/"state": "revoked"/);
    },
  );

  it.runIf(hasFileModes)("gives a file that held its key the mode back that it had", async () => {
    const { millrace, write, file } = await home();
    const name = files["droid"] ?? "";
    write(name, "{}\n");
    chmodSync(file(name), 0o644);
    const mode = () => statSync(file(name)).mode & 0o777;
    await millrace(["setup", "droid", "--yes"]);
    expect(mode()).toBe(0o600);
    await millrace(["setup", "droid", "--undo", "--yes"]);
    expect(mode()).toBe(0o644);
  });

  it("says what every client has to know", async () => {
    const { millrace, read, url } = await home();
    for (const client of Object.keys(files)) await millrace(["setup", client, "--yes", "--model", "model-b"]);
    expect(parse(read(files["opencode"] ?? ""))).toEqual({ plugin: [openCodePlugin], model: "millrace/model-b" });
    expect(parseToml(read(files["codex"] ?? ""))).toEqual({
      model_provider: "millrace",
      model: "model-b",
      web_search: "disabled",
      model_providers: {
        millrace: {
          name: "Millrace",
          base_url: `${url}/v1`,
          wire_api: "responses",
          auth: { command: "millrace", args: ["keys", "--value", "--for", "codex"] },
        },
      },
    });
    expect(parse(read(files["claude-code"] ?? ""))).toMatchObject({
      apiKeyHelper: `millrace keys --value --for claude-code --at ${url}`,
      env: { ANTHROPIC_BASE_URL: url },
    });
    expect(parseYaml(read(files["aider"] ?? ""))).toEqual({
      "openai-api-base": `${url}/v1`,
      "openai-api-key": expect.stringMatching(/^mrk_/),
      model: "openai/model-b",
      "set-env": [`OPENAI_BASE_URL=${url}/v1`],
    });
    expect(parseYaml(read(files["continue"] ?? ""))).toMatchObject({
      name: "Millrace",
      version: "1.0.0",
      schema: "v1",
      models: [{ name: "Millrace", model: "model-b", apiBase: `${url}/v1` }],
    });
    expect(parse(read(files["crush"] ?? ""))).toMatchObject({
      providers: {
        millrace: {
          type: "openai-compat",
          base_url: `${url}/v1`,
          models: [{ id: "model-b" }, { id: "model-a", context_window: 200_000 }],
        },
      },
    });
    expect(parse(read(files["zed"] ?? ""))).toMatchObject({
      language_models: { openai_compatible: { Millrace: { api_url: `${url}/v1` } } },
    });
  });

  it("keeps comments, order and everything else that is in the file, and gives it back to the byte", async () => {
    const before = '{\n\t// mine\n\t"plugin": ["other"],\n\t"theme": "dark", // too\n}\n';
    const { millrace, write, read } = await home();
    write(files["opencode"] ?? "", before);
    await millrace(["setup", "opencode", "--yes"]);
    const after = read(files["opencode"] ?? "");
    expect(after).toContain("// mine");
    expect(parse(after)).toMatchObject({ plugin: ["other", openCodePlugin], theme: "dark", model: "millrace/model-b" });
    await millrace(["setup", "opencode", "--undo", "--yes"]);
    expect(read(files["opencode"] ?? "")).toBe(before);
  });

  it("writes each value for OpenCode into the file whose value counts, and takes it out of that one again", async () => {
    const folder = ".config/opencode/";
    const [json, jsonc] = [`${folder}opencode.json`, `${folder}opencode.jsonc`];
    const added = { plugin: [openCodePlugin] };
    const model = { model: "millrace/model-b" };
    const cases: readonly [Record<string, string>, Record<string, unknown>][] = [
      [{ [jsonc]: '{ "$schema": "s" }' }, { [jsonc]: { $schema: "s", ...added, ...model } }],
      [{ [json]: '{ "theme": "t" }' }, { [json]: { theme: "t", ...added, ...model } }],
      [
        { [json]: '{ "plugin": ["a"], "model": "x/y" }', [jsonc]: '{ "theme": "t" }' },
        { [json]: { plugin: ["a", openCodePlugin], ...model }, [jsonc]: { theme: "t" } },
      ],
      [
        { [json]: '{ "plugin": ["a"], "model": "x/y" }', [jsonc]: '{ "plugin": ["b"], "model": "z/z" }' },
        { [json]: { plugin: ["a"], model: "x/y" }, [jsonc]: { plugin: ["b", openCodePlugin], ...model } },
      ],
    ];
    for (const [before, after] of cases) {
      const { millrace, write, read } = await home();
      for (const [name, text] of Object.entries(before)) write(name, text);
      await millrace(["setup", "opencode", "--yes"]);
      for (const [name, wanted] of Object.entries(after)) expect(parse(read(name))).toEqual(wanted);
      await millrace(["setup", "opencode", "--undo", "--yes"]);
      for (const [name, text] of Object.entries(before)) expect(read(name)).toBe(text);
    }
  });

  it("names a plugin for OpenCode that is there, and replaces the address of one that has moved", async () => {
    const { millrace, write, read } = await home();
    write(files["opencode"] ?? "", '{ "plugin": ["other", "file:///gone/millrace/dist/node/opencode.js"] }\n');
    await millrace(["setup", "opencode", "--yes"]);
    expect(parse(read(files["opencode"] ?? ""))).toMatchObject({ plugin: ["other", openCodePlugin] });
    const { default: plugin } = (await import(openCodePlugin)) as { readonly default: { readonly id: string } };
    expect(plugin.id).toBe("millrace");
  });

  it("takes its own changes back out of a file that was changed since", async () => {
    const { millrace, write, read } = await home();
    const cases = [
      [
        "opencode",
        '{ "model": "mine", "plugin": ["other"] }\n',
        (text: string) => text.replace('"other"', '"other", "third"'),
        { model: "mine", plugin: ["other", "third"] },
      ],
      ["codex", 'model = "mine"\n', (text: string) => text.replace("mine", "newer"), { model: "newer" }],
      [
        "aider",
        "# mine\nmodel: old\n",
        (text: string) => `${text}dark-mode: true\n`,
        { model: "old", "dark-mode": true },
      ],
      [
        "continue",
        "name: n\nmodels:\n  - name: Other\n",
        (text: string) => text.replace("name: n", "name: m"),
        { name: "m", models: [{ name: "Other" }] },
      ],
    ] as const;
    for (const [client, before, change, expected] of cases) {
      const name = files[client] ?? "";
      write(name, before);
      await millrace(["setup", client, "--yes"]);
      write(name, change(read(name)));
      expect((await millrace(["setup", client, "--undo", "--yes"])).code).toBe(0);
      const text = read(name);
      const parsed: unknown = name.endsWith(".toml")
        ? parseToml(text)
        : name.endsWith("json")
          ? parse(text)
          : parseYaml(text);
      expect([client, parsed]).toEqual([client, expected]);
    }
  });

  it("changes nothing without a yes, and nothing in a file that it cannot read", async () => {
    const { millrace, write, file, read } = await home();
    const refused = await millrace(["setup", "opencode"]);
    expect([refused.code, refused.stderr]).toEqual([64, expect.stringContaining("--yes")]);
    expect((await millrace(["setup", "opencode", "--dry-run"])).stdout).toContain('+   "model": "millrace/model-b"');
    expect(existsSync(file(files["opencode"] ?? ""))).toBe(false);
    write(files["opencode"] ?? "", "{ not json");
    expect((await millrace(["setup", "opencode", "--yes"])).stderr).toContain("is no valid JSON object");
    expect(read(files["opencode"] ?? "")).toBe("{ not json");
    const claude = files["claude-code"] ?? "";
    for (const text of ['{"env":[]}', '{"env":5}', '{"env":null}']) {
      write(claude, text);
      expect((await millrace(["setup", "claude-code", "--yes"])).stderr).toContain("`env` has another type");
      expect(read(claude)).toBe(text);
    }
    write(claude, "{}");
    expect((await millrace(["setup", "claude-code", "--yes"])).code).toBe(0);
    write(claude, '{"env":[');
    const undone = await millrace(["setup", "claude-code", "--undo", "--yes"]);
    expect([undone.code, undone.stderr]).toEqual([64, expect.stringContaining("is no valid JSON object")]);
  });

  it.runIf(hasFileModes)("writes through a link and keeps the file's mode", async () => {
    const { millrace, write, file, read } = await home();
    write("dotfiles/settings.json", "{}");
    chmodSync(file("dotfiles/settings.json"), 0o600);
    mkdirSync(file(".claude"));
    symlinkSync(file("dotfiles/settings.json"), file(files["claude-code"] ?? ""));
    await millrace(["setup", "claude-code", "--yes"]);
    expect(parse(read("dotfiles/settings.json"))).toHaveProperty("apiKeyHelper");
    expect(statSync(file("dotfiles/settings.json")).mode & 0o777).toBe(0o600);
  });

  it("prints the changes as a list in JSON, which is empty where the user makes them", async () => {
    const { millrace, file } = await home();
    const shown = async (client: string) =>
      JSON.parse((await millrace(["setup", client, "--json", "--dry-run"])).stdout) as { readonly data: unknown };
    expect(await shown("codex")).toMatchObject({ data: [{ file: file(files["codex"] ?? ""), before: null }] });
    expect(await shown("cline")).toMatchObject({ data: [] });
  });

  it("prints what to type if there is no file to change, and names the known clients", async () => {
    const { millrace, url } = await home();
    expect((await millrace(["setup", "cline"])).stdout).toContain(`${url}/v1`);
    const unknown = await millrace(["setup", "emacs"]);
    expect([unknown.code, unknown.stderr]).toEqual([64, expect.stringContaining("opencode, codex, claude-code")]);
    expect((await millrace(["setup", "codex", "--undo"])).stderr).toContain("Nothing was set up");
  });

  it.runIf(process.platform !== "win32")("prints lines in which no model's id runs a command", async () => {
    const ids = ["a'; touch ran; '", "$(touch ran)", "`touch ran`", 'b" ; touch ran; "', "c & touch ran"];
    for (const id of ids) {
      const { millrace, homeFolder } = await home({ data: [{ id, default: true }] });
      const { stdout } = await millrace(["setup", "copilot"]);
      const lines = stdout.split("\n").filter((line) => line.startsWith("  export "));
      const script = `${lines.join("\n")}\nprintf %s "$COPILOT_MODEL"`;
      expect(execFileSync("/bin/sh", ["-c", script], { cwd: homeFolder, encoding: "utf8" })).toBe(id);
      expect(existsSync(join(homeFolder, "ran"))).toBe(false);
      // Cline asks for each value, so no line is one for a shell, and the key is in no program's arguments.
      const told = (await millrace(["setup", "cline"])).stdout;
      expect(told).not.toMatch(/^ *cline auth .*(?:-m|-k)/m);
    }
  });

  it("offers no model whose id is more than one printable line", async () => {
    const odd = ["a\ntouch ran", "b\u001B]0;x\u0007", "c\u007F", "d\u202Egnp"];
    const { millrace, read } = await home({ data: [...odd.map((id) => ({ id })), { id: "plain (thinking)" }] });
    expect((await millrace(["setup", "copilot"])).stdout).toContain("COPILOT_MODEL='plain (thinking)'");
    await millrace(["setup", "codex", "--yes"]);
    expect(parseToml(read(files["codex"] ?? ""))).toMatchObject({ model: "plain (thinking)" });
  });

  it("writes TOML for Codex that holds any name", async () => {
    const { millrace, read } = await home();
    const model = 'odd\u007F"\\\u0085 name';
    await millrace(["setup", "codex", "--yes", "--model", model]);
    expect(parseToml(read(files["codex"] ?? ""))).toMatchObject({ model });
  });
});
