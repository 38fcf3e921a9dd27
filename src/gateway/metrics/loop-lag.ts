import { monitorEventLoopDelay } from "node:perf_hooks";
import { Gauge, type Registry } from "prom-client";

/** How often the loop is looked at; ms. What it takes longer than that is lag. */
const everyMs = 20;
/** Each reading covers at least this time, so that two scrapers do not take each other's samples; ms. */
const windowMs = 10_000;
const quantiles = [0.5, 0.99, 1] as const;

/** How late the event loop comes to what is due. */
export class LoopLag {
  readonly #gauge: Gauge<"quantile">;
  #histogram: ReturnType<typeof monitorEventLoopDelay> | undefined;
  #sinceMs = 0;

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
  }

  unwatch(): void {
    this.#histogram?.disable();
  }

  /** Sets the gauge; without a value there is no series. */
  set(): void {
    if (this.#histogram === undefined || this.#histogram.count === 0) return;
    for (const quantile of quantiles) {
      const ns = quantile === 1 ? this.#histogram.max : this.#histogram.percentile(quantile * 100);
      this.#gauge.set({ quantile: String(quantile) }, Math.max(0, ns / 1e9 - everyMs / 1000));
    }
    if (performance.now() - this.#sinceMs < windowMs) return;
    this.#histogram.reset();
    this.#sinceMs = performance.now();
  }
}
