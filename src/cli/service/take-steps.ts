import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { MillraceError } from "../../base/errors.ts";
import { removeEmptyFolders } from "../../base/node/remove-empty-folders.ts";
import { replaceFile } from "../../base/node/replace-file.ts";
import type { CommandOutput, RunCommand } from "../../ide/host/run-command.ts";
import type { ServiceStep } from "./service-plan.ts";

const limitMs = 60_000;

/**
 * Takes the steps one after the other, and returns the output of the last command. If one fails, the files and folders that were made before
 * it are removed again, so that nothing is half installed. Throws `degraded` with the words of the command that failed.
 */
export async function takeSteps(
  steps: readonly ServiceStep[],
  run: RunCommand,
  signal: AbortSignal,
): Promise<CommandOutput> {
  let last: CommandOutput = { stdout: "", exitCode: 0 };
  const undo: (() => void)[] = [];
  for (const step of steps) {
    if (step.kind === "remove") rmSync(step.file, { force: true });
    else if (step.kind === "write") {
      const folder = dirname(step.file);
      const wasThere = existsSync(step.file);
      const made = mkdirSync(folder, { recursive: true });
      if (!wasThere) {
        undo.push(() => {
          rmSync(step.file, { force: true });
          if (made !== undefined) removeEmptyFolders(folder, dirname(made));
        });
      }
      await replaceFile(step.file, Buffer.from(step.text, step.encoding ?? "utf8"));
    } else {
      const answer = await run(step.program, step.args, { limitMs, withStderr: true }, signal);
      if (answer.ok) last = answer.value;
      if (step.mayFail === true || (answer.ok && answer.value.exitCode === 0)) continue;
      for (const remove of undo) remove();
      const why = answer.ok ? answer.value.stderr?.trim() || `it ended with ${answer.value.exitCode}` : answer.why;
      throw new MillraceError("degraded", `\`${spellStep(step)}\` failed: ${why.replace(/\.$/, "")}.`, {
        hint: `${undo.length > 0 ? "Nothing was installed. " : ""}Where there is no service manager (a container, WSL, ssh), use \`millrace serve --background\`.`,
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
