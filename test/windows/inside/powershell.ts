import { strict as assert } from "node:assert";
import { spawnSync } from "node:child_process";
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { millrace, newPerson, output, Skip, serve, startAgent } from "./product.ts";
import type { Checks } from "./run.ts";
import { waitingProgram } from "./waiting-program.ts";

const folder = join(process.env["SystemRoot"] ?? "", "System32", "WindowsPowerShell", "v1.0");
const [file, aside] = [join(folder, "powershell.exe"), join(folder, "powershell.exe.aside")];
/** Wine has a PowerShell of its own, which prints nothing; this makes it take the file, or its absence, instead. */
const overrides = [String.raw`HKCU\Software\Wine\DllOverrides`, "/v", "powershell.exe", "/f"];

/**
 * With another program in PowerShell's place, or none: the agent answers, and `doctor` says why it does not search. `marker`: the file that shows that it was started.
 */
async function answersWith(program: Buffer | undefined, reason: RegExp, marker?: string): Promise<void> {
  if (process.env["WINEPREFIX"] === undefined) throw new Skip("Windows' own PowerShell is not replaced");
  const person = newPerson("Ann");
  if (!existsSync(aside)) renameSync(file, aside);
  spawnSync("reg", ["add", ...overrides, "/d", "native"]);
  try {
    if (program !== undefined) writeFileSync(file, program);
    const ide = await startAgent(person, "Good day from the agent.");
    await serve(person);
    assert.match(await output(person, "chat", "Hello"), /Good day from the agent\./);
    assert.match(await output(person, "status"), /127\.0\.0\.1/);
    assert.match((await millrace(person, "doctor")).stdout, reason);
    if (marker !== undefined) assert.ok(existsSync(marker), "doctor did not start PowerShell");
    await output(person, "stop", "--agents");
    await ide.stop();
  } finally {
    rmSync(file, { force: true });
    spawnSync("reg", ["delete", ...overrides]);
    renameSync(aside, file);
  }
}

/** PowerShell is missing or blocked on many machines of companies, and slow on others. */
export const powerShellChecks: Checks = {
  async "without PowerShell the agent answers, and doctor says that there is no search"() {
    await answersWith(undefined, /powershell\.exe is not on this system's PATH/);
  },

  async "with a PowerShell that may not run the agent answers, and doctor says so"() {
    await answersWith(Buffer.from("no program"), /powershell\.exe could not be run/);
  },

  async "with a PowerShell that does not end the agent answers, and doctor says so after 5 s"() {
    const marker = join(newPerson("Ann").folder, "started");
    await answersWith(waitingProgram(marker), /powershell\.exe took longer than 5 s/, marker);
  },
};
