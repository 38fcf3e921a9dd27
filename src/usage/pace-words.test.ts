import { describe, expect, it } from "vitest";
import type { Pace } from "./pace.ts";
import { durationInWords, paceInWords } from "./pace-words.ts";

const pace = (part: Partial<Pace>): Pace => ({
  windowId: "weekly",
  verdict: "too_early",
  elapsedFraction: undefined,
  usedFraction: undefined,
  projectedFraction: undefined,
  runsOutAtMs: undefined,
  why: undefined,
  ...part,
});

describe("a pace in words", () => {
  it.each<[Partial<Pace>, string]>([
    [{ verdict: "ahead", elapsedFraction: 0.9, usedFraction: 0.32 }, "58 % in reserve"],
    [{ verdict: "ahead", projectedFraction: 0.62 }, "38 % will be left at the reset"],
    [{ verdict: "tight", projectedFraction: 0.96 }, "tight: 4 % will be left at the reset"],
    [{ verdict: "runs_out", projectedFraction: 2, runsOutAtMs: 0 }, "lasts until 1970-01-01T00:00:00.000Z"],
    [{ verdict: "exhausted" }, "exhausted"],
    [{ verdict: "too_early", why: "just_started" }, "too early to say"],
    [{ verdict: "too_early", why: "unknown" }, "not told by the IDE"],
  ])("%o is said as %s", (part, words) => {
    expect(paceInWords(pace(part), (atMs) => new Date(atMs).toISOString())).toBe(words);
  });
});

describe("a time to go in words", () => {
  it.each([
    [-5, "now"],
    [59_000, "now"],
    [8 * 60_000, "8 min"],
    [125 * 60_000, "2 h 5 min"],
    [120 * 60_000, "2 h"],
    [99 * 3_600_000, "4 d 3 h"],
    [48 * 3_600_000, "2 d"],
  ])("%i ms is %s", (ms, words) => {
    expect(durationInWords(ms)).toBe(words);
  });
});
