import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import type { EventSource } from "../../base/emitter.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";

/** How often it is looked how busy the process is; ms. */
const lookEveryMs = 1_000;
/** The young generation grows no further than this. V8 would take up to 128 MB for it, and keep them. */
const mostYoungBytes = 16 * 2 ** 20;
/** From this share of the time on the collector works for speed, below it for size. */
const busyShare = 0.1;
/** So many turns that start between two looks are a burst, which would be over before the next one. */
const burstTurns = 16;
const forSize = "--optimize-for-size";
const forSpeed = "--no-optimize-for-size";

/**
 * Keeps the heap small. V8 on its own takes room for bursts and gives it back after minutes. The collector reads these two flags at
 * each decision, so they can change while the process runs. A burst of turns would cost a third more while the collector works for
 * size.
 */
export function keepHeapSmall(
  events: EventSource<Pick<TurnLifecycle, "turn_started">>,
  signal: AbortSignal,
  everyMs = lookEveryMs,
): void {
  if (process.versions["bun"] !== undefined) return; // it has another engine
  let before: EventLoopUtilization = performance.eventLoopUtilization();
  let started = 0;
  const flags = new Map<string, string>();
  const set = (name: string, flag: string) => {
    if (flags.get(name) !== flag) setFlagsFromString(flag);
    flags.set(name, flag);
  };
  const look = () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const young = getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? 0;
    set("young", `--semi-space-growth-factor=${young < mostYoungBytes ? 2 : 1}`);
    set("size", utilization < busyShare ? forSize : forSpeed);
    started = 0;
  };
  look();
  const timer = setInterval(look, everyMs);
  timer.unref();
  const deafen = events.on("turn_started", () => {
    if (++started === burstTurns) set("size", forSpeed);
  });
  signal.addEventListener(
    "abort",
    () => {
      clearInterval(timer);
      deafen();
    },
    { once: true },
  );
}
