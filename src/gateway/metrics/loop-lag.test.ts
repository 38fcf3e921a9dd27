import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LoopLag } from "./loop-lag.ts";

const monitors = vi.hoisted(() => ({ on: 0 }));
vi.mock(import("node:perf_hooks"), async (original) => {
  const actual = await original();
  return {
    ...actual,
    monitorEventLoopDelay(options) {
      const histogram = actual.monitorEventLoopDelay(options);
      const [enable, disable] = [histogram.enable.bind(histogram), histogram.disable.bind(histogram)];
      histogram.enable = () => {
        monitors.on++;
        return enable();
      };
      histogram.disable = () => {
        monitors.on--;
        return disable();
      };
      return histogram;
    },
  };
});

let [registry, lag] = [new Registry(), new LoopLag(new Registry())];
beforeEach(() => {
  registry = new Registry();
  lag = new LoopLag(registry);
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

test("nobody reads the lag, so the process does not wake up for it", () => {
  lag.watch();
  expect(monitors.on).toBe(0);
});

test("readings look until nobody has read for two minutes, and a later one begins anew", async () => {
  lag.watch();
  expect(await values()).toHaveLength(3);
  vi.advanceTimersByTime(119_000);
  expect(await values()).toHaveLength(3);
  vi.advanceTimersByTime(119_000);
  expect(monitors.on).toBe(1);
  vi.advanceTimersByTime(2_000);
  expect(monitors.on).toBe(0);
  expect((await registry.getMetricsAsJSON())[0]?.values).toEqual([]);
  expect(await values()).toHaveLength(3);
});

test("a gateway that has stopped looks no more, not even when somebody reads", () => {
  lag.watch();
  lag.set();
  expect(monitors.on).toBe(1);
  lag.unwatch();
  lag.set();
  expect(monitors.on).toBe(0);
});
