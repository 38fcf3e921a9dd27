import { expect, it } from "vitest";
import { CommitPace } from "./commit-pace.ts";

/** So many writers, one write each, with a transaction before them. Answers the last wait, ms. */
function waitOf(writers: number, at: { nowMs: number }): number {
  const pace = new CommitPace(() => at.nowMs);
  for (let i = 0; i < writers; i++) pace.wrote(`turn ${i}`, 1);
  pace.committed();
  return pace.wrote("turn 0", 1);
}

it("lets a few turns write at once, and many wait for each other, 8 ms at most", () => {
  expect([1, 4, 8, 32, 200].map((writers) => waitOf(writers, { nowMs: 5 }))).toEqual([0, 0, 2, 8, 8]);
});

it("lets one turn that appends without a pause do so", () => {
  const pace = new CommitPace(() => 5);
  for (let i = 0; i < 1_000; i++) {
    expect(pace.wrote("the turn", 1)).toBe(0);
    pace.committed();
  }
});

it("does not wait once all writers are in the group, or if the last transaction was long ago", () => {
  const at = { nowMs: 5 };
  const pace = new CommitPace(() => at.nowMs);
  for (let i = 0; i < 40; i++) pace.wrote(`turn ${i}`, 1);
  pace.committed();
  expect(pace.wrote("turn 1", 39)).toBe(8);
  expect(pace.wrote("turn 2", 40)).toBe(0);
  at.nowMs += 6;
  expect(pace.wrote("turn 3", 1)).toBe(2);
  at.nowMs += 3;
  expect(pace.wrote("turn 3", 1)).toBe(0);
});

it("forgets who wrote a while ago", () => {
  const at = { nowMs: 5 };
  const pace = new CommitPace(() => at.nowMs);
  for (let i = 0; i < 40; i++) pace.wrote(`turn ${i}`, 1);
  pace.committed();
  at.nowMs += 150;
  pace.committed();
  expect(pace.wrote("turn 1", 1)).toBe(8); // they wrote in the 100 ms before these
  at.nowMs += 250;
  pace.committed();
  expect(pace.wrote("turn 1", 1)).toBe(0);
});
