import { readFileSync, statSync } from "node:fs";
import { MillraceError } from "../../base/errors.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { removeIfThere } from "../../base/node/move-file.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import type { AdmissionPolicy } from "../../turns/options.ts";

/** The pause that the user asked for, and since when, where the file says it; undefined if there is none. A file that cannot be read counts as a pause too. */
export function readPause(file: string): { readonly since: string | null } | undefined {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
  try {
    const sinceMs = Date.parse(readFileSync(file, "utf8").trim());
    return { since: Number.isNaN(sinceMs) ? null : new Date(sinceMs).toISOString() };
  } catch {
    return { since: null };
  }
}

/**
 * Pauses every gateway of this folder, now and after each start. Nothing happens if it is paused.
 *
 * @throws MillraceError `degraded` where the file cannot be written; then stopping the gateway is what is left.
 */
export function pause(file: string, nowMs: number): void {
  try {
    if (readPause(file) === undefined) replaceFileSync(file, `${new Date(nowMs).toISOString()}\n`);
  } catch (cause) {
    const why = fileProblem(cause)?.message ?? `${file} cannot be written.`;
    throw new MillraceError("degraded", `Nothing was paused: ${why}`, {
      hint: "`millrace stop` stops the gateway, and with it all prompts.",
      cause,
    });
  }
}

/** Ends the pause. False if there was none. Throws where the file stays. */
export function endPause(file: string): boolean {
  const wasPaused = readPause(file) !== undefined;
  removeIfThere(file);
  if (readPause(file) === undefined) return wasPaused;
  throw new MillraceError("degraded", `The file ${file} cannot be removed: the gateway stays paused.`, {
    hint: "Remove it yourself.",
  });
}

/**
 * The same admission, which admits nothing while `isPaused`. A request is refused at once: the length of a pause is unknown,
 * and a client that waits silently cannot show its user the reason.
 */
export function pausable(isPaused: () => boolean, admission: AdmissionPolicy): AdmissionPolicy {
  return {
    admit(turn) {
      if (!isPaused()) return admission.admit(turn);
      throw isPausedError();
    },
  };
}

/** Throws the refusal of a paused gateway, for a program that would wait and repeat its request. */
export function stopIfPaused(file: string): void {
  if (readPause(file) !== undefined) throw isPausedError();
}

function isPausedError(): MillraceError {
  return new MillraceError("unavailable", "Millrace is paused by its owner: no prompt is sent.", {
    hint: "`millrace resume` ends the pause. Stored answers can still be read.",
    retryAfterMs: 60_000,
  });
}
