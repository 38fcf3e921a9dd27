import { expect, test } from "vitest";
import { CutWorld } from "../cut/cut-world.ts";
import { everyByte } from "../cut/places.ts";
import { surfaces } from "../cut/surfaces.ts";

/** Some of the cuts that `npm test -- search cut` makes at every byte; the steps are primes, so that they fall anywhere in an event. */
test("a connection that is cut anywhere costs no event and no second prompt, in every dialect", async () => {
  await using world = await CutWorld.open();
  const broken: string[] = [];
  let cuts = 0;
  for (const surface of surfaces) {
    cuts += await world.cutResponses(surface, everyByte(401, 1), broken);
    cuts += await world.cutLive(surface, 2, broken);
    cuts += await world.cutRequests(surface, everyByte(307, 1), broken);
  }
  const [first] = surfaces;
  if (first !== undefined) cuts += await world.cutFollower(first, everyByte(401, 1), broken);
  expect(broken).toEqual([]);
  expect(cuts).toBeGreaterThan(40);
});
