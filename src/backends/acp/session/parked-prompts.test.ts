import { expect, it } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { idle } from "../../../base/wait.fake.ts";
import { ParkedPrompts } from "./parked-prompts.ts";

const minute = 60_000;

function world() {
  const clock = new FakeClock();
  const prompts = new ParkedPrompts(clock);
  const cancelled: string[] = [];
  const park = (id: string) =>
    prompts.park(id, {
      isWaiting: (callId) => callId === `call of ${id}`,
      cancel: async () => void cancelled.push(id),
    });
  return { clock, prompts, cancelled, park };
}

const sixteen = Array.from({ length: 16 }, (_, n) => `session ${n + 1}`);

it("16 prompts wait; each further one cancels the one that waits the longest, once", async () => {
  const { cancelled, park } = world();
  sixteen.forEach(park);
  await idle();
  expect(cancelled).toEqual([]);
  ["session 17", "session 18"].forEach(park);
  await idle();
  expect(cancelled).toEqual(["session 1", "session 2"]);
});

it("a prompt that waits again counts from then on, and takes one place", async () => {
  const { cancelled, park } = world();
  sixteen.forEach(park);
  park("session 1");
  await idle();
  expect(cancelled).toEqual([]);
  park("session 17");
  await idle();
  expect(cancelled).toEqual(["session 2"]);
});

it("a prompt waits for 10 minutes, counted anew each time it waits, and is then cancelled", async () => {
  const { clock, cancelled, park } = world();
  park("a");
  await clock.advance(6 * minute);
  park("b");
  park("a");
  await clock.advance(10 * minute - 1);
  expect(cancelled).toEqual([]);
  await clock.advance(1);
  expect(cancelled).toEqual(["b", "a"]);
});

it("a prompt that goes on is not cancelled, and leaves its place and no timer behind", async () => {
  const { clock, prompts, cancelled, park } = world();
  sixteen.forEach(park);
  prompts.goOn("session 1");
  park("session 17");
  await idle();
  expect(cancelled).toEqual([]);
  for (const id of [...sixteen, "session 17"]) prompts.goOn(id);
  expect(clock.sleeping).toBe(0);
  await clock.advance(60 * minute);
  expect(cancelled).toEqual([]);
});

it("a request that names the call of a prompt in another way cancels that prompt alone", async () => {
  const { prompts, cancelled, park } = world();
  ["a", "b"].forEach(park);
  prompts.supersede(["call of b", "call of c"]);
  await idle();
  expect(cancelled).toEqual(["b"]);
});

it("closed, it cancels nothing: the prompts wait for the next gateway", async () => {
  const { clock, prompts, cancelled, park } = world();
  ["a", "b"].forEach(park);
  prompts.close();
  expect(clock.sleeping).toBe(0);
  await clock.advance(60 * minute);
  expect(cancelled).toEqual([]);
});
