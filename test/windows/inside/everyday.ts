import { strict as assert } from "node:assert";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
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
    assert.match(stdout, /^\d+\.\d+\.\d+(?:\+[\da-f]+)?\s*$/, stderr);
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
