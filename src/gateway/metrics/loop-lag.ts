import { monitorEventLoopDelay } from "node:perf_hooks";
import { Gauge, type Registry } from "prom-client";

/** How often it is looked at; ms. The delay that is measured has it in it. */
const everyMs = 20;
/** Each reading of the gauge covers at least this time, so that two scrapers do not take each other's samples; ms. */
const windowMs = 10_000;
/** The lag is no longer looked at if nothing has read it for this long; ms. */
const unreadMs = 120_000;
const quantiles = [0.5, 0.99, 1] as const;

type IntervalHistogram = ReturnType<typeof monitorEventLoopDelay>;
type Monitor = typeof monitorEventLoopDelay;

/**
 * Measures how late the event loop runs due work. For this, the process wakes up fifty times a second, also when it has nothing else
 * to do. So it measures only while a scraper reads the lag.
 */
export class LoopLag {
  readonly #gauge: Gauge<"quantile">;
  readonly #monitor: Monitor;
  #isServed = false;
  #look: { readonly histogram: IntervalHistogram; sinceMs: number } | undefined;
  #unread: NodeJS.Timeout | undefined;

  constructor(registry: Registry, monitor: Monitor = monitorEventLoopDelay) {
    this.#monitor = monitor;
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

  /** Sets the gauge. Without a value, as at the first reading, there is no series. */
  set(): void {
    const look = this.#read();
    if (look === undefined || look.histogram.count === 0) return;
    for (const quantile of quantiles) {
      const ns = quantile === 1 ? look.histogram.max : look.histogram.percentile(quantile * 100);
      this.#gauge.set({ quantile: String(quantile) }, lagOf(ns));
    }
    if (performance.now() - look.sinceMs < windowMs) return;
    look.histogram.reset();
    look.sinceMs = performance.now();
  }

  /** Reads the lag measured so far, and goes on measuring; undefined at the first reading. */
  #read() {
    if (!this.#isServed) return undefined;
    clearTimeout(this.#unread);
    this.#unread = setTimeout(() => this.#stop(), unreadMs).unref();
    if (this.#look !== undefined) return this.#look;
    const histogram = this.#monitor({ resolution: everyMs });
    histogram.enable();
    this.#look = { histogram, sinceMs: performance.now() };
    return undefined;
  }

  #stop(): void {
    clearTimeout(this.#unread);
    this.#look?.histogram.disable();
    this.#look = undefined;
    this.#gauge.reset();
  }
}

/** Seconds of lag in a delay that was measured in nanoseconds. */
function lagOf(ns: number): number {
  return Math.max(0, ns / 1e9 - everyMs / 1000);
}
