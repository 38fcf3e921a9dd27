import { strict as assert } from "node:assert";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newPerson, output, type Person, serve, startAgent } from "./product.ts";
import type { Checks } from "./run.ts";

async function chatOnce(person: Person): Promise<void> {
  const ide = await startAgent(person, "Good day.");
  await serve(person);
  assert.match(await output(person, "chat", "Hello"), /Good day\./);
  assert.equal(ide.prompts().length, 1);
  await output(person, "stop", "--agents");
  await ide.stop();
}

/** Names, places and line ends of files as Windows has them. */
export const fileChecks: Checks = {
  async "a profile with blanks and umlauts in its path is as good as another"() {
    await chatOnce(newPerson("Jörg Müller & Söhne"));
  },

  async "a folder of 260 characters is as good as another"() {
    const person = newPerson("Ann");
    const long = join(person.folder, "x".repeat(100), "y".repeat(100), "z".repeat(60));
    mkdirSync(long, { recursive: true });
    person.env["MILLRACE_HOME"] = join(long, "millrace");
    await chatOnce(person);
  },

  async "%APPDATA% may lie elsewhere"() {
    const person = newPerson("Ann");
    const roaming = join(person.folder, "elsewhere");
    mkdirSync(roaming);
    person.env["APPDATA"] = roaming;
    await chatOnce(person);
  },

  async "a configuration file with the line ends of Windows and a byte order mark is read, and keeps them"() {
    const person = newPerson("Ann");
    const folder = join(person.folder, ".millrace");
    mkdirSync(folder);
    const file = join(folder, "config.toml");
    writeFileSync(file, '\uFEFF# mine\r\n[serve]\r\ngrace = "5m"\r\n');
    assert.match(await output(person, "config", "get", "serve.grace"), /5m/);
    await output(person, "config", "set", "serve.grace", "6m");
    const written = readFileSync(file, "utf8");
    assert.match(written, /# mine\r\n/);
    assert.doesNotMatch(written, /[^\r]\n/);
  },
};
