import { monitorEventLoopDelay } from "node:perf_hooks";
import { Gauge, type Registry } from "prom-client";

/** How often the loop is looked at; ms. What it takes longer than that is lag. */
const everyMs = 20;
/** Each reading covers at least this time, so that two scrapers do not take each other's samples; ms. */
const windowMs = 10_000;
/** What is lag of a moment ago: between this time and twice as long; ms. */
const recentMs = 500;
const quantiles = [0.5, 0.99, 1] as const;

/** How late the event loop comes to what is due. */
export class LoopLag {
  readonly #gauge: Gauge<"quantile">;
  #histogram: ReturnType<typeof monitorEventLoopDelay> | undefined;
  #sinceMs = 0;
  readonly #recent = monitorEventLoopDelay({ resolution: everyMs });
  #worst: readonly [before: number, last: number] = [0, 0];
  #looking: NodeJS.Timeout | undefined;

  constructor(registry: Registry) {
    this.#gauge = new Gauge({
      name: "millrace_event_loop_lag_seconds",
      help: "How late the event loop was in the last ten seconds or since the last reading; quantile 1 is the worst.",
      labelNames: ["quantile"],
      registers: [registry],
    });
  }

  /** Looks from now on. It keeps no process alive. */
  watch(): void {
    this.#histogram ??= monitorEventLoopDelay({ resolution: everyMs });
    this.#histogram.enable();
    this.#sinceMs = performance.now();
    this.#recent.enable();
    this.#looking ??= setInterval(() => {
      this.#worst = [this.#worst[1], lagOf(this.#recent.max)];
      this.#recent.reset();
    }, recentMs).unref();
  }

  unwatch(): void {
    this.#histogram?.disable();
    this.#recent.disable();
    clearInterval(this.#looking);
    this.#looking = undefined;
    this.#worst = [0, 0];
  }

  /** The worst lag of the last second or less; ms. 0 while nobody watches. */
  lately(): number {
    return this.#looking === undefined ? 0 : 1_000 * Math.max(...this.#worst, lagOf(this.#recent.max));
  }

  /** Sets the gauge; without a value there is no series. */
  set(): void {
    if (this.#histogram === undefined || this.#histogram.count === 0) return;
    for (const quantile of quantiles) {
      const ns = quantile === 1 ? this.#histogram.max : this.#histogram.percentile(quantile * 100);
      this.#gauge.set({ quantile: String(quantile) }, lagOf(ns));
    }
    if (performance.now() - this.#sinceMs < windowMs) return;
    this.#histogram.reset();
    this.#sinceMs = performance.now();
  }
}

/** Seconds of lag in a delay that was measured in nanoseconds. */
function lagOf(ns: number): number {
  return Math.max(0, ns / 1e9 - everyMs / 1000);
}
