import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** How often it is looked how busy the process is; ms. */
const lookEveryMs = 1_000;
/** The young generation grows no further than this. V8 would take up to 128 MB for it, and keep them. */
const mostYoungBytes = 16 * 2 ** 20;
/** From this share of the time on the collector works for speed, below it for size. */
const busyShare = 0.1;

/**
 * Keeps the heap small, which V8 does not by itself: it takes room for bursts and gives it back after minutes. The collector reads
 * these two flags each time it decides something, so they can change while the process runs. Source: docs/performance.md, "Memory".
 */
export function keepHeapSmall(signal: AbortSignal, everyMs = lookEveryMs): void {
  if (process.versions["bun"] !== undefined) return; // it has another engine
  let before: EventLoopUtilization = performance.eventLoopUtilization();
  let [growth, forSize] = ["", ""];
  const look = () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const young = getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? 0;
    const nextGrowth = `--semi-space-growth-factor=${young < mostYoungBytes ? 2 : 1}`;
    const nextForSize = utilization < busyShare ? "--optimize-for-size" : "--no-optimize-for-size";
    if (nextGrowth !== growth) setFlagsFromString(nextGrowth);
    if (nextForSize !== forSize) setFlagsFromString(nextForSize);
    [growth, forSize] = [nextGrowth, nextForSize];
  };
  look();
  const timer = setInterval(look, everyMs);
  timer.unref();
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}
