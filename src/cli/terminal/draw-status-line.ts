import { MillraceError } from "../../base/errors.ts";
import { type StatusLineOptions, statusLine } from "../../usage/status-line.ts";
import { markAsked, readLimitsFile } from "../limits/limits-file.ts";

/**
 * The status line from the limits file of the running gateway. Notes that the limits were read. Asks no IDE.
 *
 * @throws MillraceError `ide_not_running` when no gateway ever wrote limits, `invalid_request` for a bad template.
 */
export function drawStatusLine(folder: string, options: StatusLineOptions, nowMs: number): string {
  const limits = readLimitsFile(folder);
  markAsked(folder, nowMs);
  if (limits !== undefined) return statusLine(limits, options, nowMs);
  throw new MillraceError("ide_not_running", "No gateway has read the limits yet.", {
    hint: "Start one with `millrace serve`, and Devin Desktop (formerly Windsurf).",
  });
}
