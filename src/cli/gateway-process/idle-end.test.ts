import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { untilIdle } from "./idle-end.ts";

/** A gateway that ends after a hundred idle seconds, and what it did with its home. */
function idleGateway() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const now = { open: 0, ever: 0, works: false, ended: false };
  const steps: string[] = [];
  let atStop = () => {};
  const done = untilIdle(
    {
      listening: { connections: () => ({ open: now.open, ever: now.ever }) },
      isWorking: () => Promise.resolve(now.works),
      home: {
        serves: () => steps.push("serves"),
        stops() {
          steps.push("stops");
          atStop();
        },
      },
      address: {},
    },
    clock,
    stop.signal,
    100_000,
  ).then(() => (now.ended = true));
  return { clock, stop, now, steps, done, onStop: (then: () => void) => (atStop = then) };
}

test("ends once nothing came for the whole time, and is not found from then on", async () => {
  const { clock, now, steps } = idleGateway();
  await clock.advance(90_000);
  expect(now.ended).toBe(false);
  await clock.advance(10_000);
  expect([now.ended, steps]).toEqual([true, ["stops"]]);
});

test.each([
  ["an open connection", { open: 1 }],
  ["a turn or a prompt that waits", { works: true }],
])("%s keeps it, and its end begins the time anew", async (_, busy) => {
  const { clock, now } = idleGateway();
  Object.assign(now, busy);
  await clock.advance(500_000);
  Object.assign(now, { open: 0, works: false });
  await clock.advance(90_000);
  expect(now.ended).toBe(false);
  await clock.advance(10_000);
  expect(now.ended).toBe(true);
});

test("a connection that began and ended between two looks begins the time anew", async () => {
  const { clock, now } = idleGateway();
  await clock.advance(85_000);
  now.ever++;
  await clock.advance(100_000);
  expect(now.ended).toBe(false);
  await clock.advance(10_000);
  expect(now.ended).toBe(true);
});

test("a client that comes in the moment of the end keeps it, and it is found again", async () => {
  const { clock, now, steps, onStop } = idleGateway();
  onStop(() => (now.ever += now.ever === 0 ? 1 : 0));
  await clock.advance(100_000);
  expect([now.ended, steps]).toEqual([false, ["stops", "serves"]]);
  await clock.advance(100_000);
  expect([now.ended, steps]).toEqual([true, ["stops", "serves", "stops"]]);
});

test("a stop ends the wait at once", async () => {
  const { stop, done, now, steps } = idleGateway();
  stop.abort();
  await done;
  expect([now.ended, steps]).toEqual([true, []]);
});
