/** A deadline is over after this many turns of the event loop at the earliest. */
const slices = 20;

/**
 * A signal that aborts with the given one, or with a `TimeoutError` after `ms` in which this process could listen. Time in which
 * the event loop was blocked counts little: an answer that arrived meanwhile is read before its deadline is over. So a busy
 * process does not mistake its own load for a silent peer. Keeps no process alive.
 */
export function patientDeadline(signal: AbortSignal, ms: number): AbortSignal {
  const late = new AbortController();
  const wait = (left: number): void => {
    if (signal.aborted) return;
    if (left > 0) setTimeout(wait, ms / slices, left - 1).unref();
    else setImmediate(() => late.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")));
  };
  wait(slices);
  return AbortSignal.any([signal, late.signal]);
}
