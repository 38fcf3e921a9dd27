import { strict as assert } from "node:assert";
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ask, type Gateway, millrace, newPerson, output, Skip, serve, startAgent } from "./product.ts";
import type { Checks } from "./run.ts";

/** Disks that the world has mounted: one that takes nothing, and a small one. On Windows itself there is none. */
const [readOnly, small] = [String.raw`Z:\w\read-only`, String.raw`Z:\w\small`];

/** Writes until the disk takes no byte more. */
function fill(file: string): void {
  const opened = openSync(file, "a");
  for (let size = 1 << 16; size >= 1; ) {
    try {
      writeSync(opened, Buffer.alloc(size));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      size >>= 1;
    }
  }
  closeSync(opened);
}

async function isDegraded({ url, key }: Gateway): Promise<boolean> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
  return (await response.text()).includes("\nmillrace_degraded 1\n");
}

/** Disks that take nothing, or nothing more. */
export const diskChecks: Checks = {
  async "a folder that cannot be written is named, with what to do"() {
    if (process.env["WINEPREFIX"] === undefined || !existsSync(readOnly))
      throw new Skip("this machine has no such disk");
    const person = newPerson("Ann");
    const ide = await startAgent(person, "Hello.");
    person.env["MILLRACE_HOME"] = join(readOnly, "millrace");
    for (const command of ["chat Hello", "status", "doctor", "stop"]) {
      const { code, stdout, stderr } = await millrace(person, ...command.split(" "));
      assert.doesNotMatch(stdout + stderr, /bug in Millrace|\n\s+at /, command);
      if (command === "chat Hello") assert.match(`${code} ${stderr}`, /^73 .*cannot be (?:written|used)/s);
    }
    assert.equal(ide.prompts().length, 0);
    await ide.stop();
  },

  async "a disk that fills in the middle of an answer costs nothing of it, and is used again once it has room"() {
    if (process.env["WINEPREFIX"] === undefined || !existsSync(small) || statfsSync(small).blocks > 10_000)
      throw new Skip("this machine has no small disk");
    const person = newPerson("Ann");
    const text = Array.from({ length: 60 }, (_, n) => `Sentence ${n} of the answer.`).join(" ");
    const ide = await startAgent(person, text);
    const folder = mkdtempSync(join(small, "ann-"));
    person.env["MILLRACE_HOME"] = join(folder, "millrace");
    const gateway = await serve(person);
    assert.deepEqual(await ask(gateway, "with room", { "idempotency-key": "with room" }), { text, whole: true });
    await ide.setTurn({ text, rate: "instant", holdAfter: 400 });
    const answer = ask(gateway, "as it fills", { "idempotency-key": "as it fills" });
    await ide.untilAgent(({ prompts }) => prompts.length === 2, AbortSignal.timeout(60_000));
    const filler = join(folder, "filler");
    fill(filler);
    await ide.release();
    assert.deepEqual(await answer, { text, whole: true });
    await ide.setTurn({ text, rate: "instant" });
    assert.match((await ask(gateway, "without room", { "idempotency-key": "without room" })).text, /^503 /);
    assert.deepEqual(await ask(gateway, "without a key"), { text, whole: true });
    assert.ok(await isDegraded(gateway));
    rmSync(filler);
    const untilMs = performance.now() + 60_000;
    while (await isDegraded(gateway)) {
      assert.ok(performance.now() < untilMs, "the disk with room is not used again");
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await ask(gateway, "with room again", { "idempotency-key": "with room again" });
    await gateway.kill();
    const next = await serve(person);
    for (const question of ["with room", "with room again"])
      assert.deepEqual(await ask(next, question, { "idempotency-key": question }), { text, whole: true }, question);
    const kept = await ask(next, "as it fills", { "idempotency-key": "as it fills" }); // without room its end was not stored
    assert.ok(!kept.whole || kept.text === text, JSON.stringify(kept));
    assert.equal(ide.prompts().length, 4);
    await output(person, "stop", "--agents");
    await ide.stop();
  },
};
