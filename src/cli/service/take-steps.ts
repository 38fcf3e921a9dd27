import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { MillraceError } from "../../base/errors.ts";
import { replaceFile } from "../../base/node/replace-file.ts";
import type { CommandOutput, RunCommand } from "../../ide/host/run-command.ts";
import type { ServiceStep } from "./service-plan.ts";

const limitMs = 60_000;

/** Takes the steps one after the other, and returns the output of the last command. Throws `degraded` at the first that fails. */
export async function takeSteps(
  steps: readonly ServiceStep[],
  run: RunCommand,
  signal: AbortSignal,
): Promise<CommandOutput> {
  let last: CommandOutput = { stdout: "", exitCode: 0 };
  for (const step of steps) {
    if (step.kind === "remove") rmSync(step.file, { force: true });
    else if (step.kind === "write") {
      mkdirSync(dirname(step.file), { recursive: true });
      await replaceFile(step.file, Buffer.from(step.text, step.encoding ?? "utf8"));
    } else {
      const answer = await run(step.program, step.args, { limitMs }, signal);
      if (answer.ok) last = answer.value;
      if (step.mayFail === true || (answer.ok && answer.value.exitCode === 0)) continue;
      const why = answer.ok ? `it ended with ${answer.value.exitCode}` : answer.why;
      throw new MillraceError("degraded", `\`${spellStep(step)}\` failed: ${why}.`, {
        hint: "Run it yourself to see why. `millrace serve --background` needs no service.",
      });
    }
  }
  return last;
}

/** A step as a person would type it. */
export function spellStep(step: ServiceStep): string {
  if (step.kind === "write") return `write ${step.file}`;
  if (step.kind === "remove") return `remove ${step.file}`;
  return [step.program, ...step.args].map((word) => (/[\s"]/.test(word) ? JSON.stringify(word) : word)).join(" ");
}
