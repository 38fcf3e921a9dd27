import { monitorEventLoopDelay } from "node:perf_hooks";
import { Gauge, type Registry } from "prom-client";

/** How often the loop is looked at; ms. What it takes longer than that is lag. */
const everyMs = 20;
/** Each reading covers at least this time, so that two scrapers do not take each other's samples; ms. */
const windowMs = 10_000;
/** Nobody reads it any more, when nobody has for this long; ms. */
const unreadMs = 120_000;
const quantiles = [0.5, 0.99, 1] as const;

/**
 * How late the event loop comes to what is due. To know it, the process wakes up fifty times a second, also when it has nothing else to
 * do. So it is looked at only while somebody reads it.
 */
export class LoopLag {
  readonly #gauge: Gauge<"quantile">;
  #histogram: ReturnType<typeof monitorEventLoopDelay> | undefined;
  #unread: NodeJS.Timeout | undefined;
  #isServed = false;
  #sinceMs = 0;

  constructor(registry: Registry) {
    this.#gauge = new Gauge({
      name: "millrace_event_loop_lag_seconds",
      help: "How late the event loop was in the last ten seconds or since the last reading; quantile 1 is the worst.",
      labelNames: ["quantile"],
      registers: [registry],
    });
  }

  /** From now on a reading begins to look. It keeps no process alive. */
  watch(): void {
    this.#isServed = true;
  }

  unwatch(): void {
    this.#isServed = false;
    this.#stop();
  }

  /** Sets the gauge, and goes on looking. Without a value, as at the first reading, there is no series. */
  set(): void {
    if (!this.#isServed) return;
    clearTimeout(this.#unread);
    this.#unread = setTimeout(() => this.#stop(), unreadMs).unref();
    if (this.#histogram === undefined) {
      this.#histogram = monitorEventLoopDelay({ resolution: everyMs });
      this.#histogram.enable();
      this.#sinceMs = performance.now();
      return;
    }
    if (this.#histogram.count === 0) return;
    for (const quantile of quantiles) {
      const ns = quantile === 1 ? this.#histogram.max : this.#histogram.percentile(quantile * 100);
      this.#gauge.set({ quantile: String(quantile) }, Math.max(0, ns / 1e9 - everyMs / 1000));
    }
    if (performance.now() - this.#sinceMs < windowMs) return;
    this.#histogram.reset();
    this.#sinceMs = performance.now();
  }

  #stop(): void {
    clearTimeout(this.#unread);
    this.#histogram?.disable();
    this.#histogram = undefined;
    this.#gauge.reset();
  }
}
