import { monitorEventLoopDelay } from "node:perf_hooks";
import { Gauge, type Registry } from "prom-client";

/** How often it is looked at; ms. The delay that is measured has it in it. */
const everyMs = 20;
/** Each reading of the gauge covers at least this time, so that two scrapers do not take each other's samples; ms. */
const windowMs = 10_000;
/** Recent lag is between this time and twice as old; ms. */
const recentMs = 500;
/** The lag is no longer looked at if nothing has read it for this long; ms. */
const unreadMs = 120_000;
const quantiles = [0.5, 0.99, 1] as const;

type IntervalHistogram = ReturnType<typeof monitorEventLoopDelay>;
type Monitor = typeof monitorEventLoopDelay;

/** The state kept while the lag is measured. */
interface Look {
  readonly histogram: IntervalHistogram;
  readonly recent: IntervalHistogram;
  readonly turning: NodeJS.Timeout;
  sinceMs: number;
  /** The worst of the two stretches of time before this one; seconds. */
  worst: readonly [before: number, last: number];
}

/**
 * Measures how late the event loop runs due work. For this, the process wakes up fifty times a second, also when it has nothing else
 * to do. So it measures only while the lag is read, by a scraper or by the queue of turns.
 */
export class LoopLag {
  readonly #gauge: Gauge<"quantile">;
  readonly #monitor: Monitor;
  #isServed = false;
  #look: Look | undefined;
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

  /** The worst lag of the last second or less; ms. 0 at the first reading. */
  lately(): number {
    const look = this.#read();
    return look === undefined ? 0 : 1_000 * Math.max(...look.worst, lagOf(look.recent.max));
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
  #read(): Look | undefined {
    if (!this.#isServed) return undefined;
    clearTimeout(this.#unread);
    this.#unread = setTimeout(() => this.#stop(), unreadMs).unref();
    if (this.#look !== undefined) return this.#look;
    this.#look = startLooking(this.#monitor);
    return undefined;
  }

  #stop(): void {
    clearTimeout(this.#unread);
    clearInterval(this.#look?.turning);
    this.#look?.histogram.disable();
    this.#look?.recent.disable();
    this.#look = undefined;
    this.#gauge.reset();
  }
}

function startLooking(monitor: Monitor): Look {
  const [histogram, recent] = [monitor({ resolution: everyMs }), monitor({ resolution: everyMs })];
  histogram.enable();
  recent.enable();
  const turning = setInterval(() => {
    look.worst = [look.worst[1], lagOf(recent.max)];
    recent.reset();
  }, recentMs).unref();
  const look: Look = { histogram, recent, turning, sinceMs: performance.now(), worst: [0, 0] };
  return look;
}

/** Seconds of lag in a delay that was measured in nanoseconds. */
function lagOf(ns: number): number {
  return Math.max(0, ns / 1e9 - everyMs / 1000);
}
