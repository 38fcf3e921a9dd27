import { strict as assert } from "node:assert";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { newPerson, output, progress, serve, startAgent } from "./product.ts";
import type { Checks } from "./run.ts";

const json = '{\r\n  "mine": "Grüße"\r\n}\r\n';
const yaml = "# Grüße\r\nname: mine\r\n";
/** The settings of each client as a person of Windows has them; half of them begin with a byte order mark. */
const settings: readonly (readonly [client: string, files: Readonly<Record<string, string>>])[] = [
  ["opencode", { ".config/opencode/opencode.json": json }],
  ["codex", { ".codex/millrace.config.toml": '\uFEFF# Grüße\r\nname = "mine"\r\n' }],
  ["claude-code", { ".claude/settings.json": `\uFEFF${json}` }],
  ["qwen-code", { ".qwen/settings.json": json }],
  ["pi", { ".pi/agent/models.json": `\uFEFF${json}`, ".pi/agent/settings.json": json }],
  ["kilo", { ".config/kilo/kilo.jsonc": `// Grüße\r\n${json}` }],
  ["droid", { ".factory/settings.json": `\uFEFF${json}` }],
  ["aider", { ".aider.conf.yml": yaml }],
  ["continue", { ".continue/config.yaml": `\uFEFF${yaml}` }],
  ["zed", { "AppData/Roaming/Zed/settings.json": `// Grüße\r\n${json}` }],
  ["crush", { ".config/crush/crush.json": `\uFEFF${json}` }],
];

/** Clients that `run` starts, by the program that stands on the PATH. */
const programs = { aider: "aider", "claude-code": "claude", codex: "codex", copilot: "copilot", droid: "droid" };
const morePrograms = { kilo: "kilo", opencode: "opencode", pi: "pi", "qwen-code": "qwen", zed: "zed" };

const recorder = `
  const fs = require("fs"), path = require("path");
  fs.writeFileSync(path.join(__dirname, "told.json"), JSON.stringify([process.argv.slice(2), process.env]));
`;

/** The clients of `setup` and `run`. */
export const clientChecks: Checks = {
  async "setup writes the settings of each client, and --undo restores them letter by letter: line ends of Windows, byte order marks, umlauts"() {
    const person = newPerson("Ann");
    const ide = await startAgent(person, "Hello.");
    await serve(person);
    for (const [client, files] of settings) {
      progress.at = `(${client})`;
      const paths = Object.entries(files).map(([name, before]) => ({ path: join(person.folder, name), before }));
      for (const { path, before } of paths) {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, before);
      }
      await output(person, "setup", client, "--yes");
      for (const { path, before } of paths) {
        const written = readFileSync(path, "utf8");
        assert.notEqual(written, before, `${client}: nothing was written to ${path}`);
        assert.doesNotMatch(written, /[^\r]\n/, `${client}: a line ends as on Linux in ${path}`);
        assert.equal(written.startsWith("\uFEFF"), before.startsWith("\uFEFF"), `${client}: ${path}`);
        assert.match(written, /Grüße/, `${client}: ${path}`);
      }
      await output(person, "setup", client, "--undo", "--yes");
      for (const { path, before } of paths)
        assert.equal(readFileSync(path, "utf8"), before, `${client}: --undo does not restore ${path}`);
    }
    await output(person, "stop", "--agents");
    await ide.stop();
  },

  async "setup generic writes lines for PowerShell and cmd"() {
    const said = await output(newPerson("Ann"), "setup", "generic");
    assert.match(said, /\$env:/);
    assert.doesNotMatch(said, /export /);
  },

  async "run starts each client that npm installed, with the key, the address, and the arguments as they were typed"() {
    const person = newPerson("Ann");
    const folder = join(person.folder, "tools & more");
    mkdirSync(folder);
    writeFileSync(join(folder, "recorder.cjs"), recorder);
    person.env["PATH"] = `${folder}${delimiter}${person.env["PATH"] ?? ""}`;
    const ide = await startAgent(person, "Hello.");
    const { url, key } = await serve(person);
    for (const [client, program] of Object.entries({ ...programs, ...morePrograms })) {
      progress.at = `(${client})`;
      writeFileSync(join(folder, `${program}.cmd`), `@"${process.execPath}" "%~dp0recorder.cjs" %*\r\n`);
      await output(person, "run", client, "--", "two words", "a&b", "100%", 'say "hi"');
      const told = readFileSync(join(folder, "told.json"), "utf8");
      writeFileSync(join(folder, "told.json"), "");
      const [args, env] = JSON.parse(told) as [readonly string[], NodeJS.ProcessEnv];
      assert.deepEqual(args.slice(-4), ["two words", "a&b", "100%", 'say "hi"'], client);
      assert.ok(
        Object.values(env).some((value) => value?.includes(key)),
        `${client}: no variable has the key`,
      );
      assert.ok(!args.join(" ").includes(key), `${client}: an argument has the key`);
      const files = args.filter((each) => /\.(?:js|json)$/.test(each)).map((each) => readFileSync(each, "utf8"));
      if (client !== "zed")
        assert.ok(
          [told, ...files].some((text) => text.includes(url)),
          `${client}: no address`,
        );
    }
    await output(person, "stop", "--agents");
    await ide.stop();
  },
};
