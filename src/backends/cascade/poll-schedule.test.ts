import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterAnswer, afterFailure, defaultPace, noPolls, type PollHistory } from "./poll-schedule.ts";

const quick = { tookMs: 1 };

describe("afterAnswer", () => {
  test("is fastest while something changes, and slows down to the slowest while nothing does", () => {
    let history: PollHistory = noPolls;
    const waits: number[] = [];
    for (const changed of [true, true, false, false, false]) {
      const next = afterAnswer(history, { changed, ...quick }, defaultPace);
      history = next.history;
      waits.push(next.waitMs);
    }
    expect(waits.slice(0, 2)).toEqual([defaultPace.fastestMs, defaultPace.fastestMs]);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    for (let i = 0; i < 100; i++) history = afterAnswer(history, { changed: false, ...quick }, defaultPace).history;
    expect(afterAnswer(history, { changed: false, ...quick }, defaultPace).waitMs).toBe(defaultPace.slowestMs);
    expect(afterAnswer(history, { changed: true, ...quick }, defaultPace).waitMs).toBe(defaultPace.fastestMs);
  });

  test("a slow server is left alone as long as it took to answer, but not for ever", () => {
    expect(afterAnswer(noPolls, { changed: true, tookMs: 200 }, defaultPace).waitMs).toBe(200);
    expect(afterAnswer(noPolls, { changed: true, tookMs: 5_000 }, defaultPace).waitMs).toBe(defaultPace.slowestMs);
  });

  test("every wait is between the fastest and the slowest", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ changed: fc.boolean(), tookMs: fc.nat(10_000) })), (polls) => {
        let history: PollHistory = noPolls;
        for (const poll of polls) {
          const next = afterAnswer(history, poll, defaultPace);
          expect(next.waitMs).toBeGreaterThanOrEqual(defaultPace.fastestMs);
          expect(next.waitMs).toBeLessThanOrEqual(defaultPace.slowestMs);
          history = next.history;
        }
      }),
    );
  });
});

describe("afterFailure", () => {
  test("a server that answers with errors gets fewer than 3 in a row", () => {
    const once = afterFailure(noPolls, "refused", 0, defaultPace);
    const twice = once && afterFailure(once.history, "refused", 100, defaultPace);
    expect(twice).toBeDefined();
    expect(twice && afterFailure(twice.history, "refused", 200, defaultPace)).toBeUndefined();
  });

  test("and fewer than 5 of the last 15", () => {
    let history: PollHistory = noPolls;
    for (let i = 0; i < 4; i++) {
      const retry = afterFailure(history, "refused", 0, defaultPace);
      expect(retry).toBeDefined();
      history = afterAnswer(retry?.history ?? history, { changed: true, ...quick }, defaultPace).history;
    }
    expect(afterFailure(history, "refused", 0, defaultPace)).toBeUndefined();
    for (let i = 0; i < 15; i++) history = afterAnswer(history, { changed: true, ...quick }, defaultPace).history;
    expect(afterFailure(history, "refused", 0, defaultPace)).toBeDefined();
  });

  test.each(["not_sent", "silent"] as const)(
    "a server that is %s is waited for as long as a restart may take",
    (kind) => {
      let history: PollHistory = noPolls;
      let atMs = 0;
      for (;;) {
        const retry = afterFailure(history, kind, atMs, defaultPace);
        if (retry === undefined) break;
        history = retry.history;
        atMs += retry.waitMs;
      }
      expect(atMs).toBeGreaterThanOrEqual(defaultPace.outageMs);
      expect(atMs).toBeLessThan(defaultPace.outageMs + 2_001);
    },
  );

  test.each(["trajectory_missing", "unimplemented"] as const)("%s is final", (kind) => {
    expect(afterFailure(noPolls, kind, 0, defaultPace)).toBeUndefined();
  });
});
