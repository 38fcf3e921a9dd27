import { MillraceError } from "../../base/errors.ts";
import { defaultRetention, type Retention } from "../../log/retention.ts";

const leastMs = 60_000;

/**
 * How long answers are kept; `windowMs` after the end or the last reader, and after the end for as long as the default or the window at
 * most. Throws `invalid_request` for less than a minute: a client that was cut off could not come back in time.
 */
export function retentionOf(windowMs: number): Retention {
  if (windowMs < leastMs)
    throw new MillraceError("invalid_request", "The retention is less than a minute.", {
      hint: "Give --retention at least 1m.",
    });
  return { ...defaultRetention, windowMs, capMs: Math.max(windowMs, defaultRetention.capMs) };
}
