import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse as parseYaml } from "yaml";
import { hasFileModes } from "../../../test/support/file-mode.ts";
import { clients } from "../clients/clients.ts";
import { millraceCommand, typedCommand } from "../clients/millrace-command.ts";
import { shortList } from "../clients/target.ts";
import { main } from "../main.ts";
import { openCodePlugin } from "../package-files.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { runCommand } from "./run.ts";
import { setupCommand } from "./setup.ts";

const key = "mr_a-key-that-nobody-may-find-in-a-file";
const models = {
  data: [
    {
      id: "model-a",
      display_name: "Model A",
      context_length: 200_000,
      max_output_tokens: 64_000,
      modalities: { input: ["text", "image"] },
    },
    { id: "model-b", display_name: "Model B", default: true },
  ],
};

/** A home with a running gateway in it, and the command line over both. */
async function home() {
  const server = createServer((request, response) => {
    const body = request.url === "/health" ? { status: "ok", instance: "one" } : models;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  const url = `http://127.0.0.1:${port}`;
  const homeFolder = mkdtempSync(join(tmpdir(), "millrace-setup-"));
  onTestFinished(() => {
    server.close();
    rmSync(homeFolder, { recursive: true });
  });
  const own = join(homeFolder, ".millrace");
  mkdirSync(own);
  writeFileSync(
    join(own, "gateway.json"),
    JSON.stringify({ url, pid: process.pid, instance: "one", version: "0", startedAtMs: 0 }),
  );
  writeFileSync(join(own, "key"), key, { mode: 0o600 });
  program(homeFolder, "millrace");
  const millrace = async (argv: readonly string[], env: Record<string, string> = {}) => {
    const io = fakeIo({ homeFolder, env: { PATH: join(homeFolder, "bin"), ...env } });
    const code = await main(argv, io, [setupCommand, runCommand]);
    return { code, stdout: io.written.stdout(), stderr: io.written.stderr() };
  };
  const file = (name: string) => join(homeFolder, name);
  const write = (name: string, text: string) => {
    mkdirSync(dirname(file(name)), { recursive: true });
    writeFileSync(file(name), text);
  };
  const read = (name: string) => readFileSync(file(name), "utf8");
  return { url, homeFolder, millrace, file, write, read };
}

/** A program of that name in the home's own `bin`. */
function program(homeFolder: string, name: string): void {
  mkdirSync(join(homeFolder, "bin"), { recursive: true });
  writeFileSync(join(homeFolder, "bin", name), "#!/bin/sh\n", { mode: 0o755 });
}

const files: Readonly<Record<string, string>> = {
  opencode: ".config/opencode/opencode.json",
  codex: ".codex/millrace.config.toml",
  "claude-code": ".claude/settings.json",
  "qwen-code": ".qwen/settings.json",
  pi: ".pi/agent/models.json",
  kilo: ".config/kilo/kilo.json",
  droid: ".factory/settings.json",
  aider: ".aider.conf.yml",
  continue: ".continue/config.yaml",
  zed: ".config/zed/settings.json",
  crush: ".config/crush/crush.json",
};

describe("millrace setup", () => {
  it("knows a file of every client that has one", () => {
    expect(
      clients
        .filter(({ edits }) => edits !== undefined)
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

  it("says what every client has to know", async () => {
    const { millrace, read, url } = await home();
    for (const client of Object.keys(files)) await millrace(["setup", client, "--yes", "--model", "model-b"]);
    expect(parse(read(files["opencode"] ?? ""))).toEqual({ plugin: [openCodePlugin], model: "millrace/model-b" });
    expect(parseToml(read(files["codex"] ?? ""))).toEqual({
      model_provider: "millrace",
      model: "model-b",
      web_search: "disabled",
      model_providers: {
        millrace: { name: "Millrace", base_url: `${url}/v1`, env_key: "MILLRACE_API_KEY", wire_api: "responses" },
      },
    });
    expect(parse(read(files["claude-code"] ?? ""))).toMatchObject({
      apiKeyHelper: "millrace key --value",
      env: { ANTHROPIC_BASE_URL: url },
    });
    expect(parseYaml(read(files["aider"] ?? ""))).toEqual({ "openai-api-base": `${url}/v1`, model: "openai/model-b" });
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

  it("prints what to type if there is no file to change, and names the known clients", async () => {
    const { millrace, url } = await home();
    expect((await millrace(["setup", "cline"])).stdout).toContain(`${url}/v1`);
    const unknown = await millrace(["setup", "emacs"]);
    expect([unknown.code, unknown.stderr]).toEqual([64, expect.stringContaining("opencode, codex, claude-code")]);
    expect((await millrace(["setup", "codex", "--undo"])).stderr).toContain("Nothing was set up");
  });
});

describe("what setup writes", () => {
  const listed = (id: string) => ({ id, name: id, contextTokens: 200_000, maxOutputTokens: 64_000, images: true });

  it.runIf(hasFileModes)("starts Millrace by its whole path where no shell finds it", () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-path-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const started = { node: "/opt/my node/bin/node", script: "/opt/millrace/bin.js" };
    const command = () => millraceCommand({ env: { PATH: join(folder, "bin") }, platform: "linux" }, started);
    expect(command()).toBe('"/opt/my node/bin/node" "/opt/millrace/bin.js"');
    program(folder, "millrace");
    expect(command()).toBe("millrace");
  });

  it("is not a program that only npm's own PATH has, and in a clone a person types its script", () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-path-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const programs = join(folder, "node_modules/.bin");
    mkdirSync(programs, { recursive: true });
    writeFileSync(join(programs, "millrace"), "#!/bin/sh\n", { mode: 0o755 });
    const shell = { env: { PATH: programs }, platform: "linux" } as const;
    const clone = { node: "/opt/node", script: "/home/me/millrace/src/cli/bin.ts" };
    expect(millraceCommand(shell, clone)).toBe('"/opt/node" "/home/me/millrace/src/cli/bin.ts"');
    expect(typedCommand(shell, clone)).toBe("npm run -s millrace --");
    expect(typedCommand(shell, { ...clone, script: "/opt/bin.js" })).toBe('"/opt/node" "/opt/bin.js"');
  });

  it("is the chosen model and the newest of each family, or all when asked", async () => {
    const names = [
      "claude-sonnet-4.5",
      "claude-sonnet-4.6",
      "claude-sonnet-4.6-thinking",
      "gpt-5.2",
      "gpt-5.10",
      "kimi-k2",
    ];
    const few = shortList(names.map(listed), "claude-sonnet-4.5", 8).map(({ id }) => id);
    expect(few).toEqual(["claude-sonnet-4.5", "claude-sonnet-4.6", "gpt-5.10", "kimi-k2"]);
    expect(shortList(names.map(listed), "kimi-k2", 2).map(({ id }) => id)).toEqual(["kimi-k2", "claude-sonnet-4.6"]);
  });

  it("has the token limits of the live list", async () => {
    const { millrace, read } = await home();
    const written = async (client: string, name = files[client] ?? "") => {
      expect((await millrace(["setup", client, "--model", "model-a", "--yes"])).code).toBe(0);
      return read(name);
    };
    for (const client of ["qwen-code", "pi", "kilo", "droid", "continue", "crush"]) {
      const text = await written(client);
      expect([client, text.includes("200000"), text.includes("64000")]).toEqual([client, true, true]);
    }
    expect(await written("codex")).toContain("model_context_window = 200000");
    expect(parse(await written("aider", ".aider.model.metadata.json"))).toMatchObject({
      "openai/model-a": { max_input_tokens: 200_000, max_output_tokens: 64_000 },
    });
    expect((await millrace(["setup", "copilot", "--model", "model-a"])).stdout).toMatch(
      /MAX_PROMPT_TOKENS='136000'[^]*MAX_OUTPUT_TOKENS='64000'[^]*API_KEY_COMMAND='millrace key --value'/,
    );
  });

  it("gives aider its key in one step, so that it is not empty", async () => {
    const { millrace } = await home();
    const { stderr } = await millrace(["setup", "aider", "--yes"]);
    expect(stderr).toContain('export OPENAI_API_KEY="$(millrace key --value)"');
  });

  it("is address, key and three models for any other client", async () => {
    const { millrace, url } = await home();
    const { code, stdout } = await millrace(["setup", "generic"]);
    expect(code).toBe(0);
    expect(stdout).toContain(`${url}/v1`);
    expect(stdout).toContain("millrace key --value");
    expect(stdout).toContain("model-a, context 200000, output 64000");
  });

  it.runIf(hasFileModes)("is for every client that is installed, with --all", async () => {
    const { millrace, homeFolder, file } = await home();
    expect((await millrace(["setup", "--all", "--yes"])).code).toBe(64);
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

/** Its programs are scripts that only a Unix can start by their name. */
describe.runIf(hasFileModes)("millrace run", () => {
  /** A program that shows what it was given. */
  function fakeProgram(folder: string, name: string): Record<string, string> {
    const bin = join(folder, "bin");
    mkdirSync(bin, { recursive: true });
    const shown = join(folder, `${name}.json`);
    const script = `require("fs").writeFileSync(${JSON.stringify(shown)}, JSON.stringify({ args: process.argv.slice(2), env: process.env })); process.exit(7);`;
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
    expect(claude.args).toEqual(["--flag", "a word"]);
    expect(claude.env).toMatchObject({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: "model-b",
    });
    const codex = await shown("codex", "codex");
    expect(codex.args.slice(-2)).toEqual(["--flag", "a word"]);
    expect(codex.args).toContain(`model_providers.millrace.base_url="${url}/v1"`);
    expect(codex.args).toContain('web_search = "disabled"');
    expect(codex.args.join(" ")).not.toContain(key);
    const openCode = await shown("opencode", "opencode");
    expect(JSON.parse(openCode.env["OPENCODE_CONFIG_CONTENT"] ?? "")).toMatchObject({
      model: "millrace/model-b",
      provider: { millrace: { models: { "model-a": { limit: { context: 200_000 } } } } },
    });
    expect(existsSync(join(homeFolder, ".config"))).toBe(false);
  });

  it("says what is missing", async () => {
    const { millrace } = await home();
    expect((await millrace(["run", "codex"], { PATH: "/nonexistent" })).stderr).toContain("Install Codex first");
    expect((await millrace(["run", "zed"])).stderr).toContain("millrace setup zed");
    const listed = async (name: string) => /One of: (.*)\./.exec((await millrace(["run", name])).stderr)?.[1];
    expect(await listed("foo")).toMatch(/^opencode, codex/);
    expect(await listed("foo")).toBe(await listed("zed"));
  });
});
