import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import type { TurnId } from "../../base/ids.ts";
import type { TurnRecord } from "../../log/store.ts";
import { LeftToOthers } from "./left-to-others.ts";

const turn = (turnId: string, owner: string) => ({ turnId: turnId as TurnId, owner }) as TurnRecord; // what is looked at
const { signal } = new AbortController();

test("a turn that cannot go on here is taken after a minute without any other taker, and its own at once", async () => {
  const clock = new FakeClock();
  const left = new LeftToOthers({ owner: "me", clock, canTakeOver: async ({ owner }) => owner === "near" });
  const [far, near, mine] = [turn("far", "far"), turn("near", "near"), turn("mine", "me")];
  expect(await left.taken([far, near, mine], signal)).toEqual([near, mine]);
  await clock.advance(59_999);
  expect(await left.taken([far], signal)).toEqual([]);
  await clock.advance(1);
  expect(await left.taken([far], signal)).toEqual([far]);
});

test("the minute begins anew for a turn that somebody had taken meanwhile", async () => {
  const clock = new FakeClock();
  const left = new LeftToOthers({ owner: "me", clock, canTakeOver: async () => false });
  expect(await left.taken([turn("far", "far")], signal)).toEqual([]);
  await clock.advance(50_000);
  expect(await left.taken([], signal)).toEqual([]);
  await clock.advance(50_000);
  expect(await left.taken([turn("far", "far")], signal)).toEqual([]);
});
