import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { newPerson, output, serve, startAgent } from "./product.ts";
import type { Checks } from "./run.ts";

/** A program that has a file open, and closes it half a second after something in the file's folder changed. */
const holder = `
  const fs = require("fs"), path = require("path");
  const [file] = process.argv.slice(1);
  const names = () => fs.readdirSync(path.dirname(file)).join("\\n");
  const open = fs.openSync(file, "r");
  const before = names();
  console.log("open");
  const timer = setInterval(() => {
    if (names() === before) return;
    clearInterval(timer);
    setTimeout(() => fs.closeSync(open), 500);
  }, 5);
`;

/** Does the work while another process has the file open, and fails if the work leaves a draft beside it. */
async function whileHeld(file: string, work: () => Promise<unknown>): Promise<void> {
  const child = spawn(process.execPath, ["-e", holder, file], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  await work();
  await ended;
  if (!existsSync(dirname(file))) return;
  const lock = `${basename(file)}.held`; // it stays
  const left = readdirSync(dirname(file)).filter((name) => name !== lock && name.startsWith(`${basename(file)}.`));
  assert.deepEqual(left, []);
}

/** Windows refuses to replace or remove a file that somebody has open. */
export const heldFileChecks: Checks = {
  async "a file that another program has open for half a second is replaced all the same: settings, keys, a client's file, the gateway's own"() {
    const person = newPerson("Ann");
    const own = (name: string) => join(person.folder, ".millrace", name);
    const ide = await startAgent(person, "Hello.");
    await output(person, "config", "set", "serve.grace", "5m");
    await whileHeld(own("config.toml"), () => output(person, "config", "set", "serve.grace", "6m"));
    assert.match(readFileSync(own("config.toml"), "utf8"), /6m/);

    await output(person, "keys", "create", "laptop");
    await whileHeld(own("keys.json"), () => output(person, "keys", "create", "desktop"));
    assert.match(await output(person, "keys"), /laptop[^]*desktop|desktop[^]*laptop/);

    const settings = join(person.folder, ".claude", "settings.json");
    mkdirSync(dirname(settings));
    writeFileSync(settings, "{}\r\n");
    await whileHeld(settings, () => output(person, "setup", "claude-code", "--yes"));
    await whileHeld(settings, () => output(person, "setup", "claude-code", "--undo", "--yes"));
    assert.equal(readFileSync(settings, "utf8"), "{}\r\n");

    await output(person, "stop", "--agents"); // the one that `setup` started
    const first = await serve(person);
    await first.kill();
    await whileHeld(own("gateway.json"), () => serve(person));
    assert.match(await output(person, "chat", "Hello"), /Hello\./);
    await whileHeld(own("turns.db"), () => output(person, "uninstall", "--yes"));
    assert.ok(!existsSync(own("")), "the folder of Millrace is still there");
    await ide.stop();
  },
};
