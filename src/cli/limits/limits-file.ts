import { closeSync, openSync, readFileSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import type { LimitsEnvelope } from "../../usage/envelope.ts";
import { visible } from "../terminal/foreign-text.ts";

/*
 * The running gateway's last reading of the limits, in a file. Some status lines are drawn every second; they read this file
 * and need no key, no port and no module. They also leave a mark, so that the gateway keeps reading the limits.
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
    const shown = (_: string, value: unknown) => (typeof value === "string" ? visible(value) : value);
    const parsed: unknown = JSON.parse(readFileSync(limitsFile(folder), "utf8"), shown); // names of the vendor's
    const isOurs = typeof parsed === "object" && parsed !== null && "data" in parsed && Array.isArray(parsed.data);
    return isOurs ? (parsed as LimitsEnvelope) : undefined; // written by writeLimitsFile, whole or not at all
  } catch {
    return undefined; // no file, or not JSON: the same as none
  }
}

/** The limits that a gateway noted last, marked as old. */
export function notedLimits(folder: string): LimitsEnvelope["data"] {
  return (readLimitsFile(folder)?.data ?? []).map((of) => ({ ...of, stale: true }));
}

/** Notes that the limits were read at `atMs` (epoch ms), so that the gateway keeps reading them. */
export function markAsked(folder: string, atMs: number): void {
  try {
    const file = askedFile(folder);
    closeSync(openSync(file, "a", 0o600));
    utimesSync(file, atMs / 1000, atMs / 1000);
  } catch {
    // a folder that cannot be written costs fresh numbers, not the line
  }
}

/** When the file was last read, epoch ms; undefined if never. */
export function lastAsked(folder: string): number | undefined {
  return statSync(askedFile(folder), { throwIfNoEntry: false })?.mtimeMs;
}
