import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { LoopLag } from "./loop-lag.ts";

it("says how late the event loop was a moment ago, and forgets it soon", async () => {
  const lag = new LoopLag(new Registry());
  expect(lag.lately()).toBe(0);
  lag.watch();
  try {
    const until = performance.now() + 700;
    setTimeout(() => {
      while (performance.now() < until);
    }, 30);
    await expect.poll(() => lag.lately(), { timeout: 60_000 }).toBeGreaterThan(300);
    await expect.poll(() => lag.lately(), { timeout: 60_000 }).toBeLessThan(300);
  } finally {
    lag.unwatch();
  }
  expect(lag.lately()).toBe(0);
});
