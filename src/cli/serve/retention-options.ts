import { MillraceError } from "../../base/errors.ts";
import { defaultRetention, type Retention } from "../../log/retention.ts";

const leastMs = 60_000;

/**
 * How long answers are kept; `windowMs` after the end or the last reader, `capMs` after the end at most (as long as the default or
 * the window, where not given). Throws `invalid_request` for less than a minute: a client that was cut off could not come back in time.
 */
export function retentionOf(windowMs: number, capMs: number | undefined): Retention {
  const cap = capMs ?? Math.max(windowMs, defaultRetention.capMs);
  if (windowMs < leastMs) throw wrong("The retention is less than a minute.");
  if (cap < windowMs) throw wrong("The retention's cap is less than the retention.");
  return { ...defaultRetention, windowMs, capMs: cap };
}

function wrong(message: string): MillraceError {
  return new MillraceError("invalid_request", message, {
    hint: "Give --retention at least 1m, and --retention-cap at least as much.",
  });
}
