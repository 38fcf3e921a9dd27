import { strict as assert } from "node:assert";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { millrace, newPerson, output, progress, serve, startAgent } from "./product.ts";
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
const programs = { "claude-code": "claude", codex: "codex", copilot: "copilot", droid: "droid" };
const morePrograms = { kilo: "kilo", opencode: "opencode", pi: "pi", "qwen-code": "qwen", zed: "zed" };

const recorder = `
  const fs = require("fs"), path = require("path");
  const args = process.argv.slice(2);
  const files = args.filter((each) => /\\.(?:js|json|yml)$/.test(each)).map((each) => fs.readFileSync(each, "utf8")); // they end with the run
  fs.writeFileSync(path.join(__dirname, "told.json"), JSON.stringify([args, process.env, files]));
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

  async "setup generic and Copilot CLI write lines for PowerShell, and for cmd"() {
    const person = newPerson("Ann");
    const key = /prints: (.+ keys --value --for generic)/;
    const typed = async () => key.exec(await output(person, "setup", "generic"))?.[1] ?? "";
    assert.match(await typed(), /^& "/);
    assert.match(await output(person, "setup", "copilot"), /\$env:COPILOT_/);
    person.env["PROMPT"] = "$P$G";
    const { stdout, stderr } = spawnSync("cmd.exe", ["/d", "/s", "/c", `"${await typed()}"`], {
      env: person.env,
      encoding: "utf8",
      windowsVerbatimArguments: true,
    });
    assert.match(stdout, /^mrk_\S+\s*$/, stderr);
    assert.match(await output(person, "setup", "copilot"), /set "COPILOT_/);
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
      const [args, env] = JSON.parse(told) as [readonly string[], NodeJS.ProcessEnv, readonly string[]];
      assert.deepEqual(args.slice(-4), ["two words", "a&b", "100%", 'say "hi"'], client);
      const keys = Object.values(env).flatMap((value) => value?.match(/mr[kr]?_[\w-]{43}/g) ?? []);
      assert.ok(keys.length > 0, `${client}: no variable has a key`);
      assert.ok(!keys.includes(key), `${client}: a variable has the owner's key`);
      assert.ok(![key, ...keys].some((each) => args.join(" ").includes(each)), `${client}: an argument has a key`);
      if (client !== "zed") assert.ok(told.includes(url), `${client}: no address`);
    }
    for (const client of ["aider", "gemini-cli", "goose"]) {
      const { code, stderr } = await millrace(person, "run", client);
      assert.equal(code, 64, `${client}: ${stderr}`);
      assert.match(stderr, /cannot be started from here on this system/, client);
    }
    await output(person, "stop", "--agents");
    await ide.stop();
  },
};
