import { Gauge, type Registry } from "prom-client";
import type { LimitWindow } from "../../usage/limits.ts";
import type { Limits } from "../../usage/meter.ts";

const ofWindow = ["ide", "window", "unit"] as const;

/**
 * The rest of each limit, as gauges. An unknown limit has no series, never a 0; an unlimited one is `+Inf`. After its reset has
 * passed, a window is unknown until it is read again.
 */
export class LimitMetrics {
  readonly #left: Gauge<(typeof ofWindow)[number]>;
  readonly #leftRatio: Gauge<"ide" | "window">;
  readonly #reset: Gauge<"ide" | "window">;
  readonly #read: Gauge<"ide">;
  readonly #stale: Gauge<"ide">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#left = new Gauge({
      name: "millrace_limit_left",
      help: "What is left of a limit, in its own unit (credits, percent, usd, messages); +Inf if it is unlimited.",
      labelNames: ofWindow,
      registers,
    });
    this.#leftRatio = new Gauge({
      name: "millrace_limit_left_ratio",
      help: "Share of a limit that is left, 0 to 1.",
      labelNames: ["ide", "window"],
      registers,
    });
    this.#reset = new Gauge({
      name: "millrace_limit_reset_timestamp_seconds",
      help: "When a limit resets.",
      labelNames: ["ide", "window"],
      registers,
    });
    this.#read = new Gauge({
      name: "millrace_limits_read_timestamp_seconds",
      help: "When an IDE's limits were last read.",
      labelNames: ["ide"],
      registers,
    });
    this.#stale = new Gauge({
      name: "millrace_limits_stale",
      help: "1 while the last reading of an IDE is not fresh.",
      labelNames: ["ide"],
      registers,
    });
  }

  /** Replaces every series with the known values. */
  set(limits: Limits | undefined): void {
    for (const gauge of [this.#left, this.#leftRatio, this.#reset, this.#read, this.#stale]) gauge.reset();
    for (const { snapshot, stale } of limits?.readings ?? []) {
      const { ide } = snapshot;
      this.#read.set({ ide }, snapshot.readAtMs / 1000);
      this.#stale.set({ ide }, stale ? 1 : 0);
      for (const window of snapshot.windows) this.#setWindow(ide, window, limits?.nowMs ?? 0);
    }
  }

  #setWindow(ide: string, limit: LimitWindow, nowMs: number): void {
    const { id: window, unit, resetsAtMs } = limit;
    if (resetsAtMs !== undefined) {
      this.#reset.set({ ide, window }, resetsAtMs / 1000);
      if (resetsAtMs <= nowMs) return;
    }
    const left = limit.state === "unlimited" ? Number.POSITIVE_INFINITY : limit.remaining;
    if (left !== undefined) this.#left.set({ ide, window, unit }, left);
    if (limit.utilization !== undefined) this.#leftRatio.set({ ide, window }, Math.max(0, 1 - limit.utilization));
  }
}
