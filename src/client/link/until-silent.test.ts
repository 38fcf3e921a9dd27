import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { idle } from "../../base/wait.fake.ts";
import { Silence, untilSilent } from "./until-silent.ts";

/** Items that a test gives, and how far their source was read. */
function source() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const state = { ended: false, give: (_item: number) => {} };
  async function* items(): AsyncGenerator<number, void> {
    try {
      while (!stop.signal.aborted) {
        const next = new Promise<number | undefined>((resolve) => {
          state.give = resolve;
          stop.signal.addEventListener("abort", () => resolve(undefined), { once: true });
        });
        const item = await next;
        if (item !== undefined) yield item;
      }
    } finally {
      state.ended = true;
    }
  }
  return { clock, stop, state, read: untilSilent(items(), () => 1_000, clock, stop) };
}

test("items pass; time in which nobody asks is not counted, and a reader that stops ends the source", async () => {
  const { clock, stop, state, read } = source();
  for (const item of [1, 2]) {
    const next = read.next();
    await clock.advance(999);
    state.give(item);
    expect(await next).toEqual({ done: false, value: item });
    await clock.advance(5_000);
    expect(clock.sleeping).toBe(0);
  }
  await read.return();
  expect([stop.signal.aborted, state.ended]).toEqual([true, true]);
});

test("a second of silence ends the iteration and its source", async () => {
  const { clock, stop, state, read } = source();
  const next = read.next().catch((error: unknown) => error);
  await clock.advance(999);
  expect(stop.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(await next).toBeInstanceOf(Silence);
  await idle();
  expect([stop.signal.aborted, state.ended]).toEqual([true, true]);
});
