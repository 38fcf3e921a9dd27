import { type FailedSeries, repeatOf, toldAgain } from "./repeats.ts";

/** Throws the last failure of a body again where no prompt may follow it yet. */
export function refuseRepeat(
  series: FailedSeries | undefined,
  nowMs: number,
  asked: "request" | "stream" = "request",
): void {
  if (series === undefined) return;
  const repeat = repeatOf(series, nowMs);
  if (repeat.type === "tell") throw toldAgain(series, repeat.untilMs, nowMs, asked);
}
