import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { retry } from "./retry.ts";

const policy = { attempts: 4, baseMs: 100, capMs: 250 };

function ports(random = 0.5) {
  const slept: number[] = [];
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: async (ms: number, signal: AbortSignal) => {
      signal.throwIfAborted();
      slept.push(ms);
    },
  };
  return { slept, clock, random: () => random, mayRepeat: () => true };
}

describe("retry", () => {
  it("gives the first answer that comes, after pauses under a ceiling that doubles up to the cap", async () => {
    const p = ports();
    const answer = await retry(
      async (attempt) => {
        if (attempt < 4) throw new Error("not yet");
        return attempt;
      },
      policy,
      p,
      new AbortController().signal,
    );
    expect(answer).toBe(4);
    expect(p.slept).toEqual([50, 100, 125]);
  });

  it("throws the last failure when the attempts are used up", async () => {
    let tries = 0;
    const work = () => Promise.reject(new Error(`try ${++tries}`));
    await expect(retry(work, policy, ports(), new AbortController().signal)).rejects.toThrow("try 4");
  });

  it("does not repeat what may not be repeated", async () => {
    let tries = 0;
    const work = () => Promise.reject(new Error(`try ${++tries}`));
    await expect(
      retry(work, policy, { ...ports(), mayRepeat: () => false }, new AbortController().signal),
    ).rejects.toThrow("try 1");
  });

  it("does not start another attempt once its signal aborted", async () => {
    const controller = new AbortController();
    let tries = 0;
    const work = () => {
      tries++;
      controller.abort(new Error("enough"));
      return Promise.reject(new Error("broken"));
    };
    await expect(retry(work, policy, ports(), controller.signal)).rejects.toThrow("broken");
    expect(tries).toBe(1);
  });

  it("never pauses longer than the cap nor tries more often than allowed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ attempts: fc.integer({ min: 1, max: 8 }), baseMs: fc.nat(1000), capMs: fc.nat(5000) }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        async (drawn, random) => {
          const p = ports(random);
          let tries = 0;
          const work = () => Promise.reject(new Error(`${++tries}`));
          await expect(retry(work, drawn, p, new AbortController().signal)).rejects.toThrow(`${drawn.attempts}`);
          expect(tries).toBe(drawn.attempts);
          expect(p.slept.every((ms) => ms >= 0 && ms <= drawn.capMs)).toBe(true);
        },
      ),
    );
  });
});
