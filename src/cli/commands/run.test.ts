import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasFileModes } from "../../../test/support/file-mode.ts";
import { doorOfRun, home, key } from "./setup-home.fake.ts";

/** Its programs are scripts that only a Unix can start by their name. */
describe.runIf(hasFileModes)("millrace run", () => {
  /** The variable that has the key of the run. */
  function keyOf(env: Readonly<Record<string, string>>): { readonly name: string; readonly value: string } {
    const [name = "", value = ""] =
      Object.entries(env).find(([name]) => /^MILLRACE_[A-Z]{16}_API_KEY$/.test(name)) ?? [];
    expect(value).toMatch(/^mrr_[\w-]{43}$/);
    return { name, value };
  }

  /** A program that shows what it was given, and what is in the files of its run that its arguments name. */
  function fakeProgram(folder: string, name: string): Record<string, string> {
    const bin = join(folder, "bin");
    mkdirSync(bin, { recursive: true });
    const shown = join(folder, `${name}.json`);
    const script = `require("fs").writeFileSync(${JSON.stringify(shown)}, JSON.stringify({ args: process.argv.slice(2), env: process.env, files: process.argv.filter((arg) => arg.includes("/.millrace/run/")).map((file) => require("fs").statSync(file).isFile() ? require("fs").readFileSync(file, "utf8") : "") })); process.exit(7);`;
    writeFileSync(join(bin, `${name}.cjs`), script);
    writeFileSync(join(bin, name), `#!/bin/sh\nexec "${process.execPath}" "${join(bin, name)}.cjs" "$@"\n`, {
      mode: 0o755,
    });
    return { PATH: `${bin}:/usr/bin:/bin` };
  }

  it("starts a client with its own arguments, pointed at the gateway, and answers its exit code", async () => {
    const { millrace, homeFolder, read, url } = await home();
    const shown = async (client: string, program: string) => {
      const env = fakeProgram(homeFolder, program);
      expect((await millrace(["run", "--model", "model-b", client, "--flag", "a word"], env)).code).toBe(7);
      return JSON.parse(read(`${program}.json`)) as {
        readonly args: readonly string[];
        readonly env: Readonly<Record<string, string>>;
      };
    };
    const claude = await shown("claude-code", "claude");
    expect(claude.args.slice(-2)).toEqual(["--flag", "a word"]);
    expect(claude.args[0]).toBe("--settings");
    expect(JSON.parse(claude.args[1] ?? "")).toMatchObject({
      apiKeyHelper: `printf %s "$${keyOf(claude.env).name}"`,
      env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: "", CLAUDE_CODE_USE_BEDROCK: "" },
    });
    expect(claude.args.join(" ")).not.toContain(keyOf(claude.env).value);
    expect(claude.env).toMatchObject({ ANTHROPIC_BASE_URL: url, ANTHROPIC_MODEL: "model-b" });
    const codex = await shown("codex", "codex");
    expect(codex.args.slice(-2)).toEqual(["--flag", "a word"]);
    expect(codex.args).toContain(`model_providers.millrace.base_url = "${url}/v1"`);
    expect(codex.args).toContain('web_search = "disabled"');
    expect(codex.args).toContain(`model_providers.millrace.env_key = "${keyOf(codex.env).name}"`);
    expect(codex.args.join(" ")).not.toContain(keyOf(codex.env).value);
    const openCode = await shown("opencode", "opencode");
    expect(JSON.parse(openCode.env["OPENCODE_CONFIG_CONTENT"] ?? "")).toMatchObject({
      model: "millrace/model-b",
      provider: { millrace: { models: { "model-a": { limit: { context: 200_000 } } } } },
    });
    expect(existsSync(join(homeFolder, ".config"))).toBe(false);
  });

  it.each(
    Object.entries({
      opencode: "opencode",
      codex: "codex",
      "claude-code": "claude",
      copilot: "copilot",
      "qwen-code": "qwen",
      pi: "pi",
      kilo: "kilo",
      droid: "droid",
      zed: "zed",
    }),
  )(
    "gives %s a key of its own under a name that nobody can guess, and none of the owner's",
    async (client, program) => {
      const { millrace, homeFolder, read } = await home();
      const other = `mrk_${"k".repeat(43)}`;
      const owners = { MILLRACE_API_KEY: key, OPENAI_API_KEY: key, ANTHROPIC_AUTH_TOKEN: key, MINE: `Bearer ${other}` };
      const ran = async () => {
        const env = { ...fakeProgram(homeFolder, program), ...owners };
        expect((await millrace(["run", client], env)).code).toBe(7);
        return JSON.parse(read(`${program}.json`)) as { args: string[]; env: Record<string, string> };
      };
      const [first, second] = [await ran(), await ran()];
      const [a, b] = [keyOf(first.env), keyOf(second.env)];
      expect([a.name, a.value]).not.toEqual([b.name, b.value]);
      const holders = Object.entries(first.env).flatMap(([name, value]) => (/mr[kr]?_/.test(value) ? [name] : []));
      expect(holders).toEqual([a.name]);
      expect(JSON.stringify(first)).not.toContain(key);
      expect(JSON.stringify(first)).not.toContain(other);
      expect(existsSync(join(homeFolder, ".millrace", "run", a.name.split("_")[1]?.toLowerCase() ?? ""))).toBe(false);
    },
  );

  it.each(Object.entries({ goose: "goose", aider: "aider", "gemini-cli": "gemini" }))(
    "gives %s, which reads its key under a public name, no key but a door",
    async (client, program) => {
      const { millrace, homeFolder, read, url } = await home();
      const env = { ...fakeProgram(homeFolder, program), MILLRACE_API_KEY: key, OPENAI_API_KEY: key };
      expect((await millrace(["run", client], env)).code).toBe(7);
      const shown = read(`${program}.json`);
      expect(shown).not.toMatch(/mr[kr]?_/);
      expect(shown).not.toContain(url);
      expect(shown).toContain(`http://127.0.0.1:${doorOfRun}`);
    },
  );

  it("starts none of these where the system cannot tell whose program connects", async () => {
    const { millrace, homeFolder } = await home();
    const { code, stderr } = await millrace(["run", "goose"], fakeProgram(homeFolder, "goose"), "win32");
    expect([code, stderr]).toEqual([64, expect.stringContaining("`millrace setup goose` points it at the gateway")]);
    expect(existsSync(join(homeFolder, "goose.json"))).toBe(false);
  });

  it("gives aider an address that wins over the variable which its library reads first", async () => {
    const { millrace, homeFolder, read } = await home();
    const url = `http://127.0.0.1:${doorOfRun}`;
    const env = { ...fakeProgram(homeFolder, "aider"), OPENAI_BASE_URL: "https://other.example/v1" };
    expect((await millrace(["run", "aider"], env)).code).toBe(7);
    const shown = JSON.parse(read("aider.json")) as { args: string[]; env: Record<string, string>; files: string[] };
    expect(shown.env["OPENAI_BASE_URL"]).toBe(`${url}/v1`);
    expect(shown.args).toContain(`OPENAI_BASE_URL=${url}/v1`); // after each `.env` that it reads
    expect(shown.files).toEqual([
      JSON.stringify([{ name: "aider/extra_params", extra_params: { api_base: `${url}/v1` } }], null, 2) + "\n",
    ]);
  });

  it("knows the names that people type, and drops one `--` before the client's arguments", async () => {
    const { millrace, homeFolder, read } = await home();
    const env = fakeProgram(homeFolder, "claude");
    for (const name of ["claude", "Claude-Code", "claude code"]) {
      expect((await millrace(["run", name, "--", "--flag", "--", "x"], env)).code).toBe(7);
      expect((JSON.parse(read("claude.json")) as { readonly args: readonly string[] }).args.slice(-3)).toEqual([
        "--flag",
        "--",
        "x",
      ]);
    }
  });

  it.each([
    ["claude-code", "claude", ["--", "--settings", "mine.json"], "--settings"],
    ["claude-code", "claude", ["--settings=mine.json"], "--settings"],
    ["codex", "codex", ["exec", "-c", 'model_provider="other"'], "model_provider"],
    ["codex", "codex", ["--config=openai_base_url=http://x"], "--config"],
    ["codex", "codex", ["--oss"], "--oss"],
    ["qwen-code", "qwen", ["--openai-base-url", "http://x"], "--openai-base-url"],
    ["pi", "pi", ["--provider", "openai"], "--provider"],
    ["droid", "droid", ["exec", "--settings", "x"], "--settings"],
    ["aider", "aider", ["--openai-api-base=http://x"], "--openai-api-base"],
  ])("starts no %s with an argument that leads it elsewhere", async (name, program, args, told) => {
    const { millrace, homeFolder } = await home();
    const { code, stderr } = await millrace(["run", name, ...args], fakeProgram(homeFolder, program));
    expect([code, stderr]).toEqual([64, expect.stringContaining(`${told} would lead it to another server`)]);
    expect(existsSync(join(homeFolder, `${program}.json`))).toBe(false);
  });

  it("passes such words on in a prompt", async () => {
    const { millrace, homeFolder } = await home();
    const env = fakeProgram(homeFolder, "claude");
    expect((await millrace(["run", "claude", "-p", "--", "--settings"], env)).code).toBe(7);
  });

  it("takes Claude's models by their vendor's names, and the one that costs nothing for small work", async () => {
    const free = { id: "swe-1.5", millrace: { credit_multiplier: 0 } };
    const { millrace, homeFolder, read } = await home({ data: [{ id: "claude-sonnet-4.6", default: true }, free] });
    await millrace(["run", "claude"], fakeProgram(homeFolder, "claude"));
    const { env } = JSON.parse(read("claude.json")) as { readonly env: Readonly<Record<string, string>> };
    expect(env).toMatchObject({
      ANTHROPIC_MODEL: "claude-sonnet-4-6",
      ANTHROPIC_DEFAULT_HAIKU_MODEL: "swe-1.5",
      ANTHROPIC_SMALL_FAST_MODEL: "swe-1.5",
    });
    await millrace(["run", "opencode"], fakeProgram(homeFolder, "opencode"));
    const openCode = JSON.parse(read("opencode.json")) as { readonly env: Readonly<Record<string, string>> };
    expect(JSON.parse(openCode.env["OPENCODE_CONFIG_CONTENT"] ?? "")).toMatchObject({
      small_model: "millrace/swe-1.5",
      enabled_providers: ["millrace"],
    });
    const shown = await millrace(["setup", "claude", "--yes"]);
    expect(shown.stdout + shown.stderr).toContain("swe-1.5, which costs nothing");
  });

  it("says what is missing", async () => {
    const { millrace } = await home();
    expect((await millrace(["run", "codex"], { PATH: "/nonexistent" })).stderr).toContain(
      "Install Codex first: `npm install --global @openai/codex`.",
    );
    const cursor = (await millrace(["setup", "cursor"])).stderr;
    expect(cursor).toMatch(/Cursor's own servers call the models.*\nhint: Use another client/);
    expect((await millrace(["run", "crush"])).stderr).toContain("millrace setup crush");
    for (const [typed, meant] of [
      ["codx", "codex"],
      ["opncode", "opencode"],
      ["claud", "claude-code"],
      ["qwn", "qwen-code"],
    ])
      expect((await millrace(["run", typed ?? ""])).stderr).toContain(`Did you mean ${meant}?`);
    for (const typed of ["foo", "emacs", "vim", "x"])
      expect((await millrace(["run", typed])).stderr).not.toContain("Did you mean");
    const listed = async (name: string) => /One of: (.*)\./.exec((await millrace(["run", name])).stderr)?.[1];
    expect(await listed("foo")).toMatch(/^opencode, codex/);
    expect(await listed("foo")).toBe(await listed("crush"));
  });
});
