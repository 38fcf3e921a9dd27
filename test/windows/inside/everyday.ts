import { strict as assert } from "node:assert";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { millrace, newPerson, output, prefix, serve, startAgent } from "./product.ts";
import type { Checks } from "./run.ts";

/** Commands of everyday use, beside a gateway whose agent is the stand-in. */
export const everydayChecks: Checks = {
  async "npm's command for cmd starts it"() {
    const { env } = newPerson("Ann");
    const shim = join(prefix, "millrace.cmd");
    const { stdout, stderr } = spawnSync("cmd.exe", ["/d", "/c", shim, "--version"], {
      env,
      encoding: "utf8",
      timeout: 60_000,
    });
    assert.match(stdout, /^\d+\.\d+\.\d+\s*$/, stderr);
  },

  async "demo --once answers, and removes its files"() {
    const person = newPerson("Ann");
    const temporary = join(person.folder, "temporary");
    mkdirSync(temporary);
    Object.assign(person.env, { TEMP: temporary, TMP: temporary });
    assert.match(await output(person, "demo", "--once"), /I am the Millrace simulator/);
    assert.deepEqual(
      readdirSync(temporary).filter((name) => name.startsWith("millrace-")),
      [],
    );
  },

  async "everyday commands answer beside a gateway: status, models, chat, keys, usage, doctor, stop"() {
    const person = newPerson("Ann");
    const ide = await startAgent(person, "Good day from the agent.");
    await serve(person);
    assert.match(await output(person, "status"), /127\.0\.0\.1/);
    const models = JSON.parse(await output(person, "models", "--json")) as { readonly data: readonly object[] };
    assert.ok(models.data.length > 0);
    assert.match(await output(person, "chat", "Hello"), /Good day from the agent\./);
    assert.match(await output(person, "keys", "create", "laptop"), /^mrk_/m);
    assert.match(await output(person, "keys"), /laptop/);
    assert.match((await millrace(person, "usage")).stderr, /The plan is unknown, because Devin CLI does not report it/);
    const doctor = await millrace(person, "doctor");
    assert.doesNotMatch(doctor.stdout + doctor.stderr, /bug in Millrace/);
    assert.match(doctor.stdout, /PowerShell/, "doctor says that PowerShell does not answer");
    const report = await millrace(person, "doctor", "--report");
    assert.ok(!report.stdout.includes(person.folder) && !report.stdout.includes(JSON.stringify(person.folder)));
    assert.equal(ide.prompts().length, 1);
    assert.match(await output(person, "stop", "--agents"), /has stopped/);
    assert.match(await output(person, "stop"), /No gateway runs/);
    await ide.stop();
  },

  async "setup writes a client's settings, and --undo restores them, with the line ends of Windows"() {
    const person = newPerson("Ann");
    for (const [client, file, before] of [
      ["qwen-code", ".qwen/settings.json", '{\r\n  "theme": "dark"\r\n}\r\n'],
      ["claude-code", ".claude/settings.json", '{\r\n  "theme": "dark"\r\n}\r\n'],
      ["opencode", ".config/opencode/opencode.json", '{\r\n  "theme": "dark"\r\n}\r\n'],
    ] as const) {
      const path = join(person.folder, file);
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, before);
      await output(person, "setup", client, "--yes");
      const written = readFileSync(path, "utf8");
      assert.notEqual(written, before, `${client}: nothing was written`);
      assert.doesNotMatch(written, /[^\r]\n/, `${client}: a line ends as on Linux`);
      await output(person, "setup", client, "--undo", "--yes");
      assert.equal(readFileSync(path, "utf8"), before, `${client}: --undo does not restore it`);
    }
  },

  async "setup generic writes lines for PowerShell and cmd"() {
    const said = await output(newPerson("Ann"), "setup", "generic");
    assert.match(said, /\$env:/);
    assert.doesNotMatch(said, /export /);
  },

  async "run starts a client that npm installed, with the key and the address"() {
    const person = newPerson("Ann");
    const folder = join(person.folder, "tools & more");
    mkdirSync(folder);
    const told = join(folder, "told.json");
    const program =
      "require('fs').writeFileSync(process.argv[2], JSON.stringify([process.argv.slice(3), process.env]))";
    writeFileSync(join(folder, "codex.cjs"), program);
    writeFileSync(join(folder, "codex.cmd"), `@"${process.execPath}" "%~dp0codex.cjs" "${told}" %*\r\n`);
    person.env["PATH"] = `${folder}${delimiter}${person.env["PATH"] ?? ""}`;
    const ide = await startAgent(person, "Hello.");
    await serve(person);
    await output(person, "run", "codex", "--", "two words", "a&b", "100%", 'say "hi"');
    const [args] = JSON.parse(readFileSync(told, "utf8")) as [readonly string[], NodeJS.ProcessEnv];
    assert.deepEqual(args.slice(-4), ["two words", "a&b", "100%", 'say "hi"']);
    await output(person, "stop", "--agents");
    await ide.stop();
  },

  async "uninstall leaves nothing"() {
    const person = newPerson("Ann");
    const ide = await startAgent(person, "Hello.");
    await serve(person);
    await output(person, "chat", "Hello");
    await output(person, "uninstall", "--yes");
    assert.ok(!existsSync(join(person.folder, ".millrace")), "the folder of Millrace is still there");
    await ide.stop();
  },
};
