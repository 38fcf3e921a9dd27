import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type BackoffPolicy, defaultBackoff, waitBefore } from "./backoff.ts";

const policies: fc.Arbitrary<BackoffPolicy> = fc.record({
  baseMs: fc.integer({ min: 1, max: 5000 }),
  capMs: fc.integer({ min: 1, max: 60_000 }),
  budget: fc.integer({ min: 1, max: 100 }),
});
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("the wait before an attach (P12)", () => {
  test("is bounded, never below what the gateway asks for, and ends with the budget", () => {
    fc.assert(
      fc.property(policies, random, fc.nat(200), fc.nat(400_000), (policy, drawn, before, askedMs) => {
        const fruitless = before + 1;
        const waitMs = waitBefore(fruitless, policy, () => drawn, askedMs);
        expect(waitMs === undefined).toBe(fruitless > policy.budget);
        if (waitMs === undefined) return;
        expect(waitMs).toBeGreaterThanOrEqual(Math.min(askedMs, 300_000));
        expect(waitMs).toBeLessThanOrEqual(Math.min(askedMs, 300_000) + policy.capMs);
      }),
    );
  });

  test("takes any value under its ceiling, which doubles", () => {
    const ceilings = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => waitBefore(n, defaultBackoff, () => 0.9999));
    expect(ceilings).toEqual([250, 500, 1000, 2000, 4000, 7999, 14_999, 14_999]);
    expect(waitBefore(8, defaultBackoff, () => 0)).toBe(0);
  });
});
