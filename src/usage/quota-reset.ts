import type { LimitsSnapshot, LimitWindow } from "./limits.ts";
import { durationInWords } from "./pace-words.ts";

/**
 * When the quota that refuses a prompt resets, epoch ms: the latest reset of the windows that are used up, or of the window
 * that is used most where a reading is from before the last prompt. Where the refusal names its window, that one's. Undefined
 * where no window says its reset. Pure.
 */
export function quotaReset(
  snapshots: readonly LimitsSnapshot[],
  nowMs: number,
  named?: "daily" | "weekly",
): number | undefined {
  const dated = snapshots
    .flatMap(({ windows }) => windows)
    .filter(({ kind, scope }) => kind === "consumption" && scope === "plan")
    .filter((window): window is DatedWindow => (window.resetsAtMs ?? 0) > nowMs && window.utilization !== undefined);
  const ofName = dated.find(({ id }) => id === named);
  if (ofName !== undefined) return ofName.resetsAtMs;
  const usedUp = dated.filter(({ utilization }) => utilization >= 1);
  if (usedUp.length > 0) return Math.max(...usedUp.map(({ resetsAtMs }) => resetsAtMs));
  return dated.toSorted((a, b) => b.utilization - a.utilization)[0]?.resetsAtMs;
}

/** Most models that an error names. */
const mostNamed = 3;

/**
 * What helps once a quota is used up. `ofAgent`: the configured agent whose own plan it is; undefined for the IDE's. Undefined where neither
 * its reset nor a free model is known. Pure.
 */
export function quotaAdvice(
  { resetsAtMs, ofAgent }: { readonly resetsAtMs: number | undefined; readonly ofAgent?: string | undefined },
  free: readonly { readonly name: string }[],
  nowMs: number,
): string | undefined {
  const names = free.slice(0, mostNamed).map(({ name }) => name);
  if (resetsAtMs === undefined && names.length === 0) return undefined;
  const date = (atMs: number) => new Date(atMs).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  const reset =
    resetsAtMs === undefined
      ? ofAgent === undefined
        ? "`millrace usage` shows when it resets."
        : `${ofAgent} itself can show when it resets.`
      : `It resets in ${durationInWords(resetsAtMs - nowMs).replace("now", "a minute")} (${date(resetsAtMs)}).`;
  return names.length === 0 ? reset : `${reset} Free, and can be asked now: ${names.join(", ")}.`;
}

type DatedWindow = LimitWindow & { readonly resetsAtMs: number; readonly utilization: number };
