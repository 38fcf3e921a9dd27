import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasFileModes } from "../../../test/support/file-mode.ts";
import { home, key } from "./setup-home.fake.ts";

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
    expect((await millrace(["run", "crush"])).stderr).toContain("millrace setup crush");
    const listed = async (name: string) => /One of: (.*)\./.exec((await millrace(["run", name])).stderr)?.[1];
    expect(await listed("foo")).toMatch(/^opencode, codex/);
    expect(await listed("foo")).toBe(await listed("crush"));
  });
});
