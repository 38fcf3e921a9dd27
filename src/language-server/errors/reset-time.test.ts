import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseResetTime, parseRetryAfter } from "./reset-time.ts";

const nowMs = Date.parse("2026-02-26T12:00:00Z");

describe("parseResetTime", () => {
  it.each([
    ["Reached message rate limit for this model. Please try again later. Resets in: 3h0m0s", 10_800_000],
    ["Resets in: 45m", 2_700_000],
    ["resets in 1h2m3.5s", 3_723_500],
    ["Try again in 30 seconds.", 30_000],
    ["quota will reset after 2 hours and 5 minutes", 7_500_000],
    ["retry after 250ms", 250],
    ["retry after 500 milliseconds", 500],
    ["try again in 1 millisecond", 1],
    ["resets in 2 mins 30 secs", 150_000],
    ["available again in 2 days", 172_800_000],
    ["quota resets at 2026-02-26T15:23:41Z", 12_221_000],
    ["resets at 2026-02-26T11:00:00Z, long gone", 0],
  ])("%s", (text, delayMs) => {
    expect(parseResetTime(text, nowMs)?.retryAfterMs).toBe(delayMs);
  });

  it.each(["", "Please try again later.", "resets in a while", "3h0m0s", "in 5 apples try again"])(
    "finds none in: %s",
    (text) => {
      expect(parseResetTime(text, nowMs)).toBeUndefined();
    },
  );

  it("reads every duration that Go writes", () => {
    fc.assert(
      fc.property(fc.nat(99), fc.nat(59), fc.nat(59), (hours, minutes, seconds) => {
        const text = `Resets in: ${hours}h${minutes}m${seconds}s`;
        const ms = ((hours * 60 + minutes) * 60 + seconds) * 1000;
        expect(parseResetTime(text, nowMs)).toEqual({ retryAfterMs: ms, resetsAtMs: nowMs + ms });
      }),
    );
  });

  it("takes any text without failing, and never a negative time", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseResetTime(`resets in ${text}`, nowMs)?.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe("parseRetryAfter", () => {
  it("reads seconds and dates, and nothing else", () => {
    expect(parseRetryAfter("120", nowMs)?.retryAfterMs).toBe(120_000);
    expect(parseRetryAfter("Thu, 26 Feb 2026 12:01:00 GMT", nowMs)?.retryAfterMs).toBe(60_000);
    expect(parseRetryAfter("soon", nowMs)).toBeUndefined();
    expect(parseRetryAfter("", nowMs)).toBeUndefined();
    expect(parseRetryAfter("-5", nowMs)).toBeUndefined();
  });
});
