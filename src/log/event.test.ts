import * as fc from "fast-check";
import { expect, test } from "vitest";
import { startOfLog } from "../base/ids.ts";
import { epochOf, eventIdOf, seqIn, seqOf } from "./event.ts";

const seqs = fc.oneof(
  fc.integer({ min: 1, max: 20_000 }),
  fc.maxSafeNat().filter((n) => n > 0),
);

test("ids sort as text the way their numbers sort, all of them after the start (P4)", () => {
  fc.assert(
    fc.property(seqs, seqs, (a, b) => {
      expect(eventIdOf(a) < eventIdOf(b)).toBe(a < b);
      expect(eventIdOf(a) > startOfLog).toBe(true);
      expect(seqOf(eventIdOf(a))).toBe(a);
    }),
  );
});

test.each([
  "",
  "a",
  "a0",
  "b1",
  "a10",
  "b01",
  "1",
  "00",
  "A1",
  "a1 ",
  "q12345678901234567",
  "a1.5",
  "a-1",
  "a5-",
  "a5-0",
  "a5-1",
  "a5-2-3",
])("%j is no event id", (text) => {
  expect(() => seqOf(text)).toThrow("not an event id");
});

test("an event of a later claim names its epoch; ids of one log sort on", () => {
  const claims = [3, 3, 9];
  const ids = [1, 3, 4, 9, 10, 11].map((seq) => eventIdOf(seq, claims));
  expect(ids).toEqual(["a1", "a3", "a4-3", "a9-3", "b10-4", "b11-4"]);
  expect(ids.toSorted()).toEqual(ids);
  expect(ids.map(seqOf)).toEqual([1, 3, 4, 9, 10, 11]);
  expect(ids.map(epochOf)).toEqual([1, 1, 3, 3, 4, 4]);
});

test("an event that another claim wrote under its number is lost", () => {
  const log = { lastEventId: eventIdOf(11, [3]), claims: [3] };
  expect(["0", "a3", "a4-2", "b11-2"].map((id) => seqIn(log, id))).toEqual([0, 3, 4, 11]);
  for (const id of ["a4", "b11", "b12", "a3-2", "a4-3"]) expect(() => seqIn(log, id)).toThrow("was lost");
  expect(() => seqIn(log, "b12-2")).toThrow("beyond the last event");
});
