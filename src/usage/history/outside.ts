import { type LimitsSnapshot, type LimitUnit, type LimitWindow, sameReset, tidy } from "../limits.ts";
import type { ExplainedCost } from "./history.ts";

/** A plan's loss in a time, and the gateway's share of it. Amounts are in the window's unit. */
export interface OutsideUse {
  readonly ide: LimitsSnapshot["ide"];
  readonly windowId: string;
  readonly unit: LimitUnit;
  /** Epoch ms of the first and last reading that the loss was measured between. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly lost: number;
  /** Cost of turns through the gateway; undefined if it is not known in this unit. */
  readonly explained: number | undefined;
  /** Used outside Millrace; undefined if that is unknown. */
  readonly outside: number | undefined;
  /** `exact`; `at_most` when the cost of some turns is unknown; `at_least` when a reset hid a part of the loss. */
  readonly bound: "exact" | "at_most" | "at_least" | "unknown";
}

/** The window that turns are paid from: prompt credits, else the weekly, else the daily quota. */
export function payingWindow(snapshot: LimitsSnapshot): LimitWindow | undefined {
  for (const id of ["prompt-credits", "weekly", "daily"]) {
    const window = snapshot.windows.find((candidate) => candidate.id === id && candidate.state === "metered");
    if (window !== undefined) return window;
  }
  return undefined;
}

/**
 * Compares the plan's loss between readings with the cost of turns: the rest was used outside Millrace. It never estimates: a turn
 * of unknown cost makes the result a bound, or unknown. Readings are of one IDE, in order of time.
 *
 * @param explainedIn cost of the gateway's turns in a time, from (exclusive) to (inclusive).
 */
export function outsideUse(
  readings: readonly LimitsSnapshot[],
  windowId: string,
  explainedIn: (fromMs: number, toMs: number) => ExplainedCost,
): OutsideUse | undefined {
  const told = readings.flatMap((reading) => {
    const window = reading.windows.find((candidate) => candidate.id === windowId);
    if (window?.kind !== "consumption" || window.used === undefined) return [];
    return [
      { ide: reading.ide, unit: window.unit, atMs: reading.readAtMs, used: window.used, resetsAtMs: window.resetsAtMs },
    ];
  });
  const [first, last] = [told[0], told.at(-1)];
  if (first === undefined || last === undefined || told.length < 2) return undefined;
  let lost = 0;
  let wasReset = false;
  /** The most that was used in this cycle: a reading below it is a rounding or a refund, and what comes back to it was counted. */
  let highest = first.used;
  let before = first;
  for (const reading of told.slice(1)) {
    if (isNewCycle(reading, before, highest)) {
      lost += reading.used; // what was used of the old cycle after its last reading was never seen
      wasReset = true;
      highest = reading.used;
    } else {
      lost += Math.max(0, reading.used - highest);
      highest = Math.max(highest, reading.used);
    }
    before = reading;
  }
  const turns = explainedIn(first.atMs, last.atMs);
  const base = { ide: first.ide, windowId, unit: first.unit, fromMs: first.atMs, toMs: last.atMs, lost: tidy(lost) };
  // Turns have their cost in credits. In any other unit their cost is unknown, unless there were no turns.
  const explained = first.unit === "credits" ? turns.creditsHundredths / 100 : turns.turns === 0 ? 0 : undefined;
  if (explained === undefined) return { ...base, explained, outside: undefined, bound: "unknown" };
  const hasUnknown = first.unit === "credits" && turns.unknownTurns > 0;
  if (hasUnknown && wasReset) return { ...base, explained, outside: undefined, bound: "unknown" };
  return {
    ...base,
    explained,
    outside: tidy(Math.max(0, lost - explained)),
    bound: hasUnknown ? "at_most" : wasReset ? "at_least" : "exact",
  };
}

type CycleReading = Pick<LimitWindow, "resetsAtMs"> & { readonly used: number };

/** Without a time of reset only a fall to less than half shows a new cycle. */
function isNewCycle(reading: CycleReading, before: CycleReading, highest: number): boolean {
  if (!sameReset(reading.resetsAtMs, before.resetsAtMs)) return true;
  return reading.resetsAtMs === undefined && reading.used < highest / 2;
}
