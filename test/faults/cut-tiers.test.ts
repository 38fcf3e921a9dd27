import { expect, test } from "vitest";
import { tierNames } from "../../src/gateway/streams/raw-client.fake.ts";
import { cutTierDown, cutTierUp } from "../cut/cut-tiers.ts";
import { CutWorld } from "../cut/cut-world.ts";
import { everyByte } from "../cut/places.ts";

/** Some of the cuts that `npm test -- search cut` makes at every byte; the steps are primes, so that they fall anywhere in a message. */
test("a stream that is cut anywhere is delivered as its log holds it and starts once, over every tier", async () => {
  await using world = await CutWorld.open();
  const broken: string[] = [];
  let cuts = 0;
  for (const tier of tierNames) {
    cuts += await cutTierDown(world, tier, everyByte(101, 1), broken);
    cuts += await cutTierUp(world, tier, everyByte(211, 1), broken);
  }
  expect(broken).toEqual([]);
  expect(cuts).toBeGreaterThan(40);
});
