import { type LimitsSnapshot, type LimitWindow, sameReset } from "./limits.ts";

/**
 * Whether a window lasts until its reset. `ahead`: at least 10 % of it will be left. `tight`: it lasts, with less to spare.
 * `runs_out`: at this speed it is used up before the reset. `too_early`: no honest verdict is possible yet; `why` has the reason.
 */
export type PaceVerdict = "ahead" | "tight" | "runs_out" | "exhausted" | "too_early";

export interface Pace {
  readonly windowId: string;
  readonly verdict: PaceVerdict;
  /** Share of the window's time that has passed now, 0..1: where an even pace would stand. */
  readonly elapsedFraction: number | undefined;
  /** Share of the limit that was used at the reading, 0..1. */
  readonly usedFraction: number | undefined;
  /** Share of the limit that will be used at the reset if it goes on as it did; above 1 means that it does not last. */
  readonly projectedFraction: number | undefined;
  /** Epoch ms when it is used up at this speed; only with `runs_out`. */
  readonly runsOutAtMs: number | undefined;
  readonly why: "unknown" | "no_reset" | "window_over" | "just_started" | "no_history" | undefined;
}

/** Before this share of a window has passed, one busy minute would look like ruin. */
const earliestFraction = 0.05;
/** Without a known start, a speed is measured over at least this long. */
const shortestHistoryMs = 3_600_000;

/**
 * The pace of every limited window in the last of one IDE's readings, which are in order of time. Pure: the same arguments give the same
 * answer; instants are epoch ms, so time zones and their changes do not matter. Unlimited windows and
 * balances have no pace and are left out. Snapshots read "after" `now` (the clock went back) count as read now.
 *
 * The speed is what was used since the window began, over the time from then to the reading. Where the start is not known
 * it is measured between readings of the same cycle.
 */
export function paceOf(snapshots: readonly LimitsSnapshot[], nowMs: number): readonly Pace[] {
  const newest = snapshots.at(-1);
  const windows = newest?.windows.filter(({ kind, state }) => kind === "consumption" && state !== "unlimited") ?? [];
  return newest === undefined ? [] : windows.map((window) => paceOfWindow(newest, window, snapshots, nowMs));
}

function paceOfWindow(
  newest: LimitsSnapshot,
  window: LimitWindow,
  ordered: readonly LimitsSnapshot[],
  nowMs: number,
): Pace {
  const base = { windowId: window.id };
  const used = window.utilization;
  const resetsAtMs = window.resetsAtMs;
  const early = (why: Pace["why"], elapsedFraction?: number): Pace => ({
    ...base,
    verdict: "too_early",
    elapsedFraction,
    usedFraction: why === "window_over" ? undefined : used,
    projectedFraction: undefined,
    runsOutAtMs: undefined,
    why,
  });
  if (used === undefined) return early("unknown");
  // The reading belongs to a window that is over; the new window has not been read yet.
  if (resetsAtMs !== undefined && resetsAtMs <= nowMs) return early("window_over");
  const readAtMs = Math.min(newest.readAtMs, nowMs);
  const startMs = startOf(window);
  const elapsedFraction =
    startMs === undefined || resetsAtMs === undefined ? undefined : share(startMs, nowMs, resetsAtMs);
  const told = { ...base, elapsedFraction, usedFraction: used, why: undefined };
  if (used >= 1) return { ...told, verdict: "exhausted", projectedFraction: 1, runsOutAtMs: undefined };
  if (resetsAtMs === undefined) return early("no_reset");
  const speed =
    startMs === undefined
      ? speedBetweenReadings(window, used, readAtMs, ordered)
      : speedSinceStart(used, startMs, readAtMs, resetsAtMs);
  if (typeof speed === "string") return early(speed, elapsedFraction);
  const projectedFraction = used + speed * (resetsAtMs - readAtMs);
  if (projectedFraction > 1) {
    const runsOutAtMs = Math.min(resetsAtMs, readAtMs + (1 - used) / speed);
    return { ...told, verdict: "runs_out", projectedFraction, runsOutAtMs };
  }
  return { ...told, verdict: projectedFraction <= 0.9 ? "ahead" : "tight", projectedFraction, runsOutAtMs: undefined };
}

function startOf(window: LimitWindow): number | undefined {
  if (window.resetsAtMs === undefined || window.windowSeconds === undefined) return undefined;
  return window.resetsAtMs - window.windowSeconds * 1000;
}

/** Share of the limit for each ms, or why there is none. */
function speedSinceStart(used: number, startMs: number, readAtMs: number, resetsAtMs: number): number | "just_started" {
  const elapsed = share(startMs, readAtMs, resetsAtMs);
  // A window may be longer than we think (a day of 25 hours): what was used then still counts over at least the least time.
  return elapsed < earliestFraction ? "just_started" : used / (elapsed * (resetsAtMs - startMs));
}

function speedBetweenReadings(
  window: LimitWindow,
  used: number,
  readAtMs: number,
  ordered: readonly LimitsSnapshot[],
): number | "no_history" {
  let first = { atMs: readAtMs, used };
  for (const snapshot of ordered.toReversed()) {
    const earlier = snapshot.windows.find((candidate) => candidate.id === window.id);
    if (earlier?.utilization === undefined || !sameReset(earlier.resetsAtMs, window.resetsAtMs)) break;
    if (earlier.utilization > first.used) break; // it went down since: another cycle, or credits were added
    first = { atMs: Math.min(first.atMs, snapshot.readAtMs), used: earlier.utilization };
  }
  const spanMs = readAtMs - first.atMs;
  return spanMs < shortestHistoryMs ? "no_history" : (used - first.used) / spanMs;
}

/** How far `atMs` lies between two instants, cut to 0..1. */
function share(fromMs: number, atMs: number, toMs: number): number {
  return Math.min(1, Math.max(0, (atMs - fromMs) / (toMs - fromMs)));
}
