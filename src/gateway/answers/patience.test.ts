import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { Patience } from "./patience.ts";

const clock = new FakeClock();

test("a wait is over in time; one that another wait follows is not", async () => {
  const patience = new Patience(clock);
  const over: string[] = [];
  patience.wait(100, () => over.push("first"));
  await clock.advance(60);
  patience.wait(100, () => over.push("second"));
  await clock.advance(99);
  expect(over).toEqual([]);
  await clock.advance(1);
  expect(over).toEqual(["second"]);
  patience.wait(30, () => over.push("third"));
  await clock.advance(30);
  expect(over).toEqual(["second", "third"]);
  await clock.advance(1_000);
  expect(over).toEqual(["second", "third"]);
});

test("many waits share one sleep, and a shorter one is not kept waiting by it", async () => {
  const patience = new Patience(clock);
  const over: string[] = [];
  for (let i = 0; i < 50; i++) {
    patience.wait(1_000, () => over.push("long"));
    await clock.advance(5);
    expect(clock.sleeping).toBe(1);
  }
  patience.wait(20, () => over.push("short"));
  await clock.advance(20);
  expect(over).toEqual(["short"]);
  patience.end();
  await clock.advance(5_000);
  expect(over).toEqual(["short"]);
});

test("once it has ended nothing is over any more, and no timer is left behind", async () => {
  const patience = new Patience(clock);
  const over: string[] = [];
  patience.wait(100, () => over.push("late"));
  patience.end();
  await clock.advance(200);
  expect(over).toEqual([]);
  expect(clock.sleeping).toBe(0);
});
