import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { PollPacer } from "./poll-pacer.ts";

const { signal } = new AbortController();

/** Turns that poll all the time, each answered at once; the times of their polls. */
function start(pacer: PollPacer, clock: FakeClock, turns: number, stop: AbortSignal): number[][] {
  return Array.from({ length: turns }, () => {
    const polls: number[] = [];
    const leave = pacer.enter();
    const run = async (): Promise<void> => {
      const askedAtMs = clock.monotonic();
      polls.push(askedAtMs);
      await pacer.untilDue({ askedAtMs, notBeforeMs: askedAtMs, intervalMs: 20 }, stop);
      return run();
    };
    run().catch(leave);
    return polls;
  });
}

function gaps(polls: readonly number[]): number[] {
  return polls.slice(1).map((at, i) => at - (polls[i] ?? 0));
}

describe("one turn", () => {
  test("polls every 20 to 25 ms", async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const [polls = []] = start(new PollPacer(clock), clock, 1, stop.signal);
    await clock.advance(2_000);
    stop.abort(new Error("enough"));
    for (const gap of gaps(polls)) {
      expect(gap).toBeGreaterThanOrEqual(20);
      expect(gap).toBeLessThanOrEqual(25);
    }
    expect(polls.length).toBeGreaterThan(80);
  });

  test("is let go with the signal's reason, and leaves no timer behind", async () => {
    const clock = new FakeClock();
    const pacer = new PollPacer(clock);
    const stop = new AbortController();
    const waiting = pacer.untilDue({ askedAtMs: 0, notBeforeMs: 0, intervalMs: 500 }, stop.signal);
    stop.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    await clock.advance(1_000);
    expect(clock.sleeping).toBe(0);
  });

  test("whose poll is due earlier is not kept waiting by another one", async () => {
    const clock = new FakeClock();
    const pacer = new PollPacer(clock);
    const woken: string[] = [];
    const slow = pacer.untilDue({ askedAtMs: 0, notBeforeMs: 0, intervalMs: 1_000 }, signal);
    const quick = pacer.untilDue({ askedAtMs: 0, notBeforeMs: 0, intervalMs: 20 }, signal);
    void slow.then(() => woken.push("slow"));
    void quick.then(() => woken.push("quick"));
    await clock.advance(30);
    expect(woken).toEqual(["quick"]);
    await clock.advance(1_300);
    expect(woken).toEqual(["quick", "slow"]);
  });
});

describe("many turns", () => {
  test("do not delay the last poll of one, which confirms its end", async () => {
    const clock = new FakeClock();
    const pacer = new PollPacer(clock);
    const stop = new AbortController();
    start(pacer, clock, 200, stop.signal);
    await clock.advance(1_001);
    const askedAtMs = clock.monotonic();
    const confirmedAfterMs = async (notBeforeMs: number) => {
      await pacer.untilDue({ askedAtMs, notBeforeMs, intervalMs: 0 }, stop.signal);
      return clock.monotonic() - askedAtMs;
    };
    const [atOnce, soon] = [confirmedAfterMs(askedAtMs - 1), confirmedAfterMs(askedAtMs + 4)];
    await clock.advance(50);
    expect(await Promise.all([atOnce, soon])).toEqual([0, 4]);
    const stopped = confirmedAfterMs(0);
    stop.abort(new Error("enough"));
    await expect(confirmedAfterMs(0)).rejects.toThrow("enough");
    await stopped;
  });

  test("poll less often each, starve none and are spread over the time, though they all began at once", async () => {
    const clock = new FakeClock();
    const pacer = new PollPacer(clock);
    const stop = new AbortController();
    const turns = start(pacer, clock, 200, stop.signal);
    await clock.advance(3_000);
    stop.abort(new Error("enough"));
    const all = turns.flatMap((polls) => gaps(polls).slice(1)); // the first ones are made while the others still begin
    expect(Math.min(...all)).toBeGreaterThanOrEqual(120);
    expect(Math.max(...all)).toBeLessThanOrEqual(160);
    const perWake = new Map<number, number>();
    for (const at of turns.flat().filter((at) => at > 1_000)) perWake.set(at, (perWake.get(at) ?? 0) + 1);
    expect(Math.max(...perWake.values())).toBeLessThan(40);
    expect(perWake.size).toBeLessThan(turns.flat().filter((at) => at > 1_000).length / 3);
  });

  test("of up to sixteen that began at different times soon wake up together, and still poll in time", async () => {
    const clock = new FakeClock();
    const pacer = new PollPacer(clock);
    const stop = new AbortController();
    const turns: number[][] = [];
    for (let turn = 0; turn < 16; turn++) {
      turns.push(...start(pacer, clock, 1, stop.signal));
      await clock.advance(3);
    }
    await clock.advance(5_000);
    stop.abort(new Error("enough"));
    const later = turns.map((polls) => polls.filter((at) => at > 2_000));
    expect(Math.max(...later.flatMap(gaps))).toBeLessThanOrEqual(80);
    expect(new Set(later.flat()).size).toBeLessThan(later.flat().length / 5);
  });

  test("share no wake-up that is too early for one of them", async () => {
    const clock = new FakeClock();
    const pacer = new PollPacer(clock);
    const wokenAtMs = async (notBeforeMs: number) => {
      await pacer.untilDue({ askedAtMs: 0, notBeforeMs, intervalMs: 100 }, signal);
      return clock.monotonic();
    };
    const first = wokenAtMs(0);
    const [ready, notReady] = [wokenAtMs(100), wokenAtMs(101)];
    const late = pacer
      .untilDue({ askedAtMs: 20, notBeforeMs: 0, intervalMs: 100 }, signal)
      .then(() => clock.monotonic());
    await clock.advance(200);
    expect(await Promise.all([first, ready, late])).toEqual([100, 100, 100]);
    expect(await notReady).toBeGreaterThanOrEqual(101);
  });

  test.each([
    { turns: 4, gridMs: 4, past8: [0, 4] },
    { turns: 16, gridMs: 8, past8: [0] },
  ])("$turns turns wake up at multiples of $gridMs ms", async ({ turns, past8 }) => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const polls = start(new PollPacer(clock), clock, turns, stop.signal);
    await clock.advance(1_000);
    stop.abort(new Error("enough"));
    const later = polls.flat().filter((at) => at > 100); // the first ones are made while the others still begin
    expect(later.length).toBeGreaterThan(turns * 10);
    expect(new Set(later.map((at) => at % 8))).toEqual(new Set(past8));
  });

  test("a turn that ended makes room for the others", async () => {
    const pacer = new PollPacer(new FakeClock());
    const leave = Array.from({ length: 64 }, () => pacer.enter());
    expect(pacer.leastIntervalMs).toBe(60);
    for (const one of leave.slice(16)) {
      one();
      one();
    }
    expect(pacer.leastIntervalMs).toBe(56);
  });
});

test("wake-ups that come late slow every turn down, up to a bound, until they come in time again", async () => {
  class BusyClock extends FakeClock {
    busyMs = 0;
    override async sleep(ms: number, stop: AbortSignal): Promise<void> {
      await super.sleep(ms + this.busyMs, stop);
    }
  }
  const clock = new BusyClock();
  const pacer = new PollPacer(clock);
  const stop = new AbortController();
  start(pacer, clock, 16, stop.signal);
  await clock.advance(1_000);
  expect(pacer.leastIntervalMs).toBeCloseTo(56, 0);
  clock.busyMs = 200;
  await clock.advance(20_000);
  expect(pacer.leastIntervalMs).toBeGreaterThan(100);
  expect(pacer.leastIntervalMs).toBeLessThanOrEqual(336);
  clock.busyMs = 0;
  await clock.advance(20_000);
  stop.abort(new Error("enough"));
  expect(pacer.leastIntervalMs).toBeCloseTo(56, 0);
});
