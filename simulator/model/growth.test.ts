import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/base/clock.fake.ts";
import { Growth } from "./growth.ts";

const never = new AbortController().signal;

describe("growing text", () => {
  it("appends everything in order and performs each mark exactly at its length", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ maxLength: 40, unit: "binary-ascii" }), { maxLength: 5 }),
        fc.array(fc.nat(80), { maxLength: 4 }),
        fc.integer({ min: 1, max: 9 }),
        async (texts, places, chunk) => {
          let grown = "";
          const met: number[] = [];
          const growth = new Growth({
            marks: places.map((at) => ({ at, act: () => void met.push(grown.length) })),
            clock: new FakeClock(),
            charsPerSecond: Infinity,
            chunk,
          });
          for (const text of texts) await growth.grow(text, (piece) => (grown += piece), never);
          await growth.finish();
          expect(grown).toBe(texts.join(""));
          const sorted = [...places].sort((a, b) => a - b);
          expect(met).toEqual(sorted.map((at) => Math.min(at, grown.length)));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("takes the time that its rate says", async () => {
    const clock = new FakeClock();
    let grown = "";
    const growth = new Growth({ marks: [], clock, charsPerSecond: 10, chunk: 5 });
    const done = growth.grow("0123456789", (piece) => (grown += piece), never);
    await clock.advance(0);
    expect(grown).toBe("01234");
    await clock.advance(499);
    expect(grown).toBe("01234");
    await clock.advance(1);
    expect(grown).toBe("0123456789");
    await clock.advance(500);
    await done;
  });

  it("splits no surrogate pair", async () => {
    const pieces: string[] = [];
    const growth = new Growth({
      marks: [{ at: 1, act: () => {} }],
      clock: new FakeClock(),
      charsPerSecond: Infinity,
      chunk: 1,
    });
    await growth.grow("😀a", (piece) => pieces.push(piece), never);
    expect(pieces).toEqual(["😀", "a"]);
  });
});
