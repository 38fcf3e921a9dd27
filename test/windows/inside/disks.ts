import { strict as assert } from "node:assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { millrace, newPerson, Skip, startAgent } from "./product.ts";
import type { Checks } from "./run.ts";

/** A disk that the world has mounted, and that takes nothing. On Windows itself there is none. */
const readOnly = String.raw`Z:\w\read-only`;

/** Disks that take nothing. */
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
};
