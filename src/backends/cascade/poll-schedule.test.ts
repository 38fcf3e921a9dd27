import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type AnsweredPoll,
  afterAnswer,
  afterFailure,
  defaultPace,
  noPolls,
  type PollHistory,
} from "./poll-schedule.ts";

const answered = { askedAtMs: 1_000, answeredAtMs: 1_001, ageMs: 60_000, quietMs: 0, length: 0 };
const after = (poll: Partial<AnsweredPoll>) => afterAnswer(noPolls, { ...answered, ...poll }, defaultPace).next;

describe("afterAnswer", () => {
  test("is fastest while something changes and in the first ten seconds, and slows down with the silence", () => {
    expect(after({ quietMs: 0 }).intervalMs).toBe(defaultPace.fastestMs);
    expect(after({ quietMs: 9_999, ageMs: 9_999 }).intervalMs).toBe(defaultPace.fastestMs);
    const intervals = [0, 2_000, 10_000, 30_000, 120_000].map((quietMs) => after({ quietMs }).intervalMs);
    expect(intervals).toEqual(intervals.toSorted((a, b) => a - b));
    expect(after({ quietMs: 30_000 }).intervalMs).toBe(250);
    expect(after({ quietMs: 120_000 }).intervalMs).toBe(1_000);
  });

  test("is faster until the first text than while text flows", () => {
    expect([after({ length: 0 }).intervalMs, after({ length: 1 }).intervalMs]).toEqual([20, 33]);
  });

  test("a slow server is left alone as long as it took to answer, but not for ever", () => {
    expect(after({ answeredAtMs: 1_200 }).notBeforeMs).toBe(1_400);
    expect(after({ answeredAtMs: 6_000 }).notBeforeMs).toBe(6_500);
  });

  test("a long answer is read less often, because each poll carries all of it", () => {
    expect(after({ length: 200_000 }).intervalMs).toBe(defaultPace.flowingMs);
    expect(after({ length: 2_000_000 }).intervalMs).toBe(200);
    expect(after({ length: 100_000_000 }).intervalMs).toBe(500);
    expect(after({ length: 100_000_000, confirmMs: 40 }).intervalMs).toBe(0);
  });

  test("a checkpoint is looked at again soon, however long the turn was silent", () => {
    const next = after({ confirmMs: 40, quietMs: 200_000 });
    expect(next).toMatchObject({ intervalMs: 0, notBeforeMs: answered.answeredAtMs + 40 });
  });

  test("no interval is shorter than the fastest or longer than a second", () => {
    fc.assert(
      fc.property(fc.nat(600_000), fc.nat(600_000), fc.nat(50_000_000), (quietMs, ageMs, length) => {
        const { intervalMs } = after({ quietMs, ageMs, length });
        expect(intervalMs).toBeGreaterThanOrEqual(defaultPace.fastestMs);
        expect(intervalMs).toBeLessThanOrEqual(1_000);
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
      history = afterAnswer(retry?.history ?? history, answered, defaultPace).history;
    }
    expect(afterFailure(history, "refused", 0, defaultPace)).toBeUndefined();
    for (let i = 0; i < 15; i++) history = afterAnswer(history, answered, defaultPace).history;
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

  test.each(["trajectory_missing", "unimplemented", "retired"] as const)("%s is final", (kind) => {
    expect(afterFailure(noPolls, kind, 0, defaultPace)).toBeUndefined();
  });
});
