import { expect, test } from "vitest";
import { cutTierDown, cutTierUp } from "../cut/cut-tiers.ts";
import { CutWorld } from "../cut/cut-world.ts";
import { everyByte } from "../cut/places.ts";
import { surfaces } from "../cut/surfaces.ts";

/** A share of the cuts of `npm test -- search cut`; the steps are primes, so that they fall anywhere in an event. */
test("over ACP a connection that is cut anywhere costs no event and no second prompt", async () => {
  await using world = await CutWorld.open("ACP");
  const broken: string[] = [];
  let cuts = 0;
  for (const surface of surfaces) {
    cuts += await world.cutResponses(surface, everyByte(701, 1), broken);
    cuts += await world.cutLive(surface, 3, broken);
    cuts += await world.cutRequests(surface, everyByte(401, 1), broken);
  }
  cuts += await cutTierDown(world, "sse", everyByte(211, 1), broken);
  cuts += await cutTierUp(world, "sse", everyByte(401, 1), broken);
  expect(broken).toEqual([]);
  expect(cuts).toBeGreaterThan(40);
});
