import { Gauge, type Registry } from "prom-client";
import { ideName } from "../../base/ide-name.ts";
import type { Limits } from "../../usage/meter.ts";

/**
 * The rest of each limit, as gauges: answers what replaces every series by the known values. An unknown limit has no series, never a 0;
 * an unlimited one is `+Inf`. After its reset has passed, a window is unknown until it is read again.
 */
export function limitGauges(registry: Registry): (limits: Limits | undefined) => void {
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const left = gauge(
    "millrace_limit_left",
    "What is left of a limit, in its own unit (credits, percent, usd, messages); +Inf if it is unlimited.",
    ["ide", "window", "unit"],
  );
  const leftRatio = gauge("millrace_limit_left_ratio", "Share of a limit that is left, 0 to 1.", ["ide", "window"]);
  const reset = gauge("millrace_limit_reset_timestamp_seconds", "When a limit resets.", ["ide", "window"]);
  const read = gauge("millrace_limits_read_timestamp_seconds", "When an IDE's limits were last read.", ["ide"]);
  const isStale = gauge("millrace_limits_stale", "1 while the last reading of an IDE is not fresh.", ["ide"]);
  return (limits) => {
    for (const each of [left, leftRatio, reset, read, isStale]) each.reset();
    for (const { snapshot, stale } of limits?.readings ?? []) {
      const ide = ideName(snapshot.ide);
      read.set({ ide }, snapshot.readAtMs / 1000);
      isStale.set({ ide }, stale ? 1 : 0);
      for (const { id: window, unit, resetsAtMs, state, remaining, utilization } of snapshot.windows) {
        if (resetsAtMs !== undefined) reset.set({ ide, window }, resetsAtMs / 1000);
        if (resetsAtMs !== undefined && resetsAtMs <= (limits?.nowMs ?? 0)) continue;
        const rest = state === "unlimited" ? Number.POSITIVE_INFINITY : remaining;
        if (rest !== undefined) left.set({ ide, window, unit }, rest);
        if (utilization !== undefined) leftRatio.set({ ide, window }, Math.max(0, 1 - utilization));
      }
    }
  };
}
