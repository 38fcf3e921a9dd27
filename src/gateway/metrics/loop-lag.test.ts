import { monitorEventLoopDelay } from "node:perf_hooks";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LoopLag } from "./loop-lag.ts";

let monitors = 0;

/** Node's monitor, and how many of them look. */
function counted(options?: Parameters<typeof monitorEventLoopDelay>[0]) {
  const histogram = monitorEventLoopDelay(options);
  const [enable, disable] = [histogram.enable.bind(histogram), histogram.disable.bind(histogram)];
  histogram.enable = () => {
    monitors++;
    return enable();
  };
  histogram.disable = () => {
    monitors--;
    return disable();
  };
  return histogram;
}

let [registry, lag] = [new Registry(), new LoopLag(new Registry())];
beforeEach(() => {
  registry = new Registry();
  lag = new LoopLag(registry, counted);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  lag.unwatch();
  vi.useRealTimers();
});

/** Reads until there is a value, which the first look of the monitor brings. */
async function values(): Promise<readonly number[]> {
  for (;;) {
    lag.set();
    const { values } = (await registry.getMetricsAsJSON())[0] ?? { values: [] };
    if (values.length > 0) return values.map(({ value }) => value);
    await new Promise(setImmediate);
  }
}

test("the process does not wake up for a lag that is not read", () => {
  lag.watch();
  expect(monitors).toBe(0);
});

test("looks until two minutes after the last reading, and a later reading begins anew", async () => {
  lag.watch();
  expect(await values()).toHaveLength(3);
  vi.advanceTimersByTime(119_000);
  expect(await values()).toHaveLength(3);
  vi.advanceTimersByTime(119_000);
  expect(monitors).toBe(1);
  vi.advanceTimersByTime(2_000);
  expect(monitors).toBe(0);
  expect((await registry.getMetricsAsJSON())[0]?.values).toEqual([]);
  expect(await values()).toHaveLength(3);
});

test("a gateway that has stopped looks no more, not even for a reading", () => {
  lag.watch();
  lag.set();
  expect(monitors).toBe(1);
  lag.unwatch();
  lag.set();
  expect(monitors).toBe(0);
});
