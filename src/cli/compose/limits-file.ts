import { closeSync, openSync, readFileSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import type { LimitsEnvelope } from "../../usage/envelope.ts";

/*
 * What the running gateway last knew of the limits, in a file: a status line is drawn every second by some, and reads this
 * instead of asking (no key, no port, nothing to load). In turn it leaves a mark that somebody looks.
 */

/** The file with the last limits, in Millrace's folder. */
export function limitsFile(folder: string): string {
  return join(folder, "limits.json");
}

function askedFile(folder: string): string {
  return join(folder, "limits.asked");
}

/** Writes the limits for status lines: atomically, mode 0600. */
export function writeLimitsFile(folder: string, limits: LimitsEnvelope): void {
  replaceFileSync(limitsFile(folder), JSON.stringify(limits));
}

/** The limits that a gateway wrote; undefined without any. Only Millrace writes this file, so its form is not checked again. */
export function readLimitsFile(folder: string): LimitsEnvelope | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(limitsFile(folder), "utf8"));
    const isOurs = typeof parsed === "object" && parsed !== null && "data" in parsed && Array.isArray(parsed.data);
    return isOurs ? (parsed as LimitsEnvelope) : undefined; // written by writeLimitsFile, whole or not at all
  } catch {
    return undefined; // no file, or not JSON: the same as none
  }
}

/** Leaves the mark that somebody looked at the limits at `atMs` (epoch ms), so that the gateway goes on reading them. */
export function markAsked(folder: string, atMs: number): void {
  try {
    const file = askedFile(folder);
    closeSync(openSync(file, "a", 0o600));
    utimesSync(file, atMs / 1000, atMs / 1000);
  } catch {
    // a folder that cannot be written costs fresh numbers, not the line
  }
}

/** When somebody last looked by way of the file, epoch ms; undefined if never. */
export function lastAsked(folder: string): number | undefined {
  return statSync(askedFile(folder), { throwIfNoEntry: false })?.mtimeMs;
}
