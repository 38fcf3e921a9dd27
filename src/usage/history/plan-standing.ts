import { type LimitsSnapshot, type LimitWindow, sameReset } from "../limits.ts";

/** A turn's cost shows in a reading this soon after the one before it; later, too much else may have happened. */
const longestGapMs = 3_600_000;

/** The window that turns are paid from: prompt credits, else the weekly, else the daily quota. */
export function payingWindow(snapshot: LimitsSnapshot): LimitWindow | undefined {
  for (const id of ["prompt-credits", "weekly", "daily"]) {
    const window = snapshot.windows.find((candidate) => candidate.id === id && candidate.state === "metered");
    if (window !== undefined) return window;
  }
  return undefined;
}

/**
 * Applies a new reading to the turns that ended since the reading before: the rest of the window that they were paid from. Undefined
 * when the window was reset in between or the readings lie too far apart.
 */
export function standingAfter(
  before: LimitsSnapshot,
  after: LimitsSnapshot,
): { readonly windowId: string; readonly remaining: number; readonly sinceMs: number } | undefined {
  const window = payingWindow(before);
  const now = after.windows.find((candidate) => candidate.id === window?.id);
  if (window === undefined || now?.remaining === undefined) return undefined;
  if (!sameReset(now.resetsAtMs, window.resetsAtMs)) return undefined;
  if (after.readAtMs - before.readAtMs > longestGapMs) return undefined;
  return { windowId: now.id, remaining: now.remaining, sinceMs: before.readAtMs };
}
