import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { systemClock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import { remove, removeSync } from "../../base/node/move-file.ts";
import { removeEmptyFolders } from "../../base/node/remove-empty-folders.ts";
import { replaceFile } from "../../base/node/replace-file.ts";
import type { CommandOutput, RunCommand } from "../../ide/host/run-command.ts";

/** The service's program, and the folders of its manager. */
export interface ServiceSpec {
  /** Node and the script, as absolute paths, and the arguments. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly homeFolder: string;
  /** Millrace's own folder. */
  readonly folder: string;
  /** `XDG_CONFIG_HOME`, where it is set. */
  readonly configHome: string | undefined;
  /** `DOMAIN\name`, for Windows; undefined where the system does not say. */
  readonly user?: string | undefined;
  /** The user's number, for launchd. */
  readonly uid: number;
}

export type ServiceAction = "install" | "restart" | "uninstall";

/** One thing to do to the system, as data. */
export type ServiceStep =
  | { readonly kind: "write"; readonly file: string; readonly text: string; readonly encoding?: "utf8" | "utf16le" }
  | { readonly kind: "folder"; readonly folder: string }
  | { readonly kind: "remove"; readonly file: string }
  /** `mayFail`: it undoes something that may be missing. */
  | RunStep
  /** Runs the command again and again until it fails: what it asks for is gone. */
  | { readonly kind: "until"; readonly step: RunStep };

type RunStep = {
  readonly kind: "run";
  readonly program: string;
  readonly args: readonly string[];
  readonly mayFail?: true;
};

/** A system's service manager: pure, its steps are taken elsewhere. */
export interface ServiceManager {
  readonly title: string;
  /** The file that is there while the service is installed. */
  readonly definition: (spec: ServiceSpec) => string;
  readonly steps: (spec: ServiceSpec) => Readonly<Record<ServiceAction, readonly ServiceStep[]>>;
  /** The note to the user after the installation. */
  readonly note: string;
}

/** Text inside an element. */
export function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

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
    if (step.kind === "remove") await remove(step.file);
    else if (step.kind === "until") await untilItFails(step.step, run, signal);
    else if (step.kind === "folder") mkdirSync(step.folder, { recursive: true, mode: 0o700 });
    else if (step.kind === "write") {
      const folder = dirname(step.file);
      const wasThere = existsSync(step.file);
      const made = mkdirSync(folder, { recursive: true });
      if (!wasThere) {
        undo.push(() => {
          removeSync(step.file);
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
      const isWithoutManager = /connect to bus|not been booted|ENOENT/i.test(why);
      throw new MillraceError("degraded", `\`${spellCommand(step)}\` failed: ${why.replace(/\.$/, "")}.`, {
        hint: `${undo.length > 0 ? "Nothing was installed. " : ""}${isWithoutManager ? "This machine has no service manager for your user, as in a container, WSL or ssh" : "Without a service"}: use \`millrace serve --background\`.`,
      });
    }
  }
  return last;
}

/** How long the end of an old service is waited for, and how often it is asked for; ms. An old gateway has 30 s to end. */
const [goneWithinMs, askEveryMs] = [40_000, 200];

async function untilItFails({ program, args }: RunStep, run: RunCommand, signal: AbortSignal): Promise<void> {
  for (let waitedMs = 0; waitedMs < goneWithinMs; waitedMs += askEveryMs) {
    const answer = await run(program, args, { limitMs, withStderr: true }, signal);
    if (!answer.ok || answer.value.exitCode !== 0) return;
    await systemClock.sleep(askEveryMs, signal);
  }
}

/** A command as a person would type it. */
export function spellCommand({ program, args }: RunStep): string {
  return [program, ...args].map((word) => (/[\s"]/.test(word) ? JSON.stringify(word) : word)).join(" ");
}

/** A command of a service manager as a step. */
export const command =
  (program: string, ...first: readonly string[]) =>
  (...args: readonly string[]): RunStep => ({ kind: "run", program, args: [...first, ...args] });

/** The same step where its failure means that there was nothing to undo. */
export function ifThere(step: RunStep): RunStep {
  return { ...step, mayFail: true };
}
