import { type ErrorCode, isLimit, MillraceError } from "../../base/errors.ts";
import { parseResetTime, type ResetTime } from "./reset-time.ts";

/** A failure of a backend, as a code of the table of errors: all that a backend decides about its errors. */
export interface Symptom {
  readonly code: ErrorCode;
  /** In our words. */
  readonly message: string;
  readonly hint?: string;
}

/** The error of a symptom. `text`: what the backend wrote. The text of a limit says when it ends, and which window of a quota is used up. */
export function symptomError(
  { code, message, hint }: Symptom,
  text: string,
  {
    nowMs,
    reset,
    details,
    cause,
  }: {
    readonly nowMs: number;
    /** When a limit ends, where that came beside the text. */
    readonly reset?: ResetTime | undefined;
    readonly details?: object;
    readonly cause?: unknown;
  },
): MillraceError {
  const window = code === "quota_exhausted" ? windowNamed(text) : undefined;
  const said = window === undefined ? message : message.replace("usage quota", `${window} usage quota`);
  const known = window === undefined ? details : { ...details, window };
  return new MillraceError(code, said, {
    ...(hint === undefined ? {} : { hint }),
    ...(isLimit({ code }) ? (reset ?? parseResetTime(text, nowMs)) : undefined),
    ...(known === undefined ? {} : { details: known }),
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Which window of a quota a text names; undefined where it names none, or both. */
function windowNamed(text: string): "daily" | "weekly" | undefined {
  const [daily, weekly] = [/\bdaily\b|\btoday\b/i.test(text), /\bweekly\b|\bthis week\b/i.test(text)];
  return daily === weekly ? undefined : daily ? "daily" : "weekly";
}
