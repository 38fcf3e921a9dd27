import * as fc from "fast-check";
import { expect, test } from "vitest";
import { startOfLog } from "../base/ids.ts";
import { eventIdOf, seqOf } from "./event.ts";

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

test.each(["", "a", "a0", "b1", "a10", "b01", "1", "00", "A1", "a1 ", "q12345678901234567", "a1.5", "a-1"])(
  "%j is no event id",
  (text) => {
    expect(() => seqOf(text)).toThrow("not an event id");
  },
);
