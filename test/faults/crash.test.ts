import { expect, test } from "vitest";
import { crashClients } from "../crash/clients.ts";
import { CrashWorld } from "../crash/scenario.ts";
import { generator } from "../support/long-suite.ts";

/** A few deaths of those that `npm test -- search crash` goes through by the hundred. */
test("turns survive a gateway that is killed at a write of its store, at a call to the IDE, and in the middle of answers", async () => {
  await using world = await CrashWorld.open(60_000);
  const { turns, broken, deaths } = await world.run({
    clients: crashClients,
    characters: 2_000,
    fates: [
      { kind: "write", when: "before", write: 40 },
      { kind: "call", rpc: "SendUserCascadeMessage", nth: 2 },
      { kind: "time", afterMs: 300 },
    ],
    random: generator(1),
    clientDeaths: 1,
  });
  const faults = turns.filter(
    ({ broken, failed, stalled }) => broken.length > 0 || failed !== undefined || stalled !== undefined,
  );
  expect([faults, broken]).toEqual([[], []]);
  expect(deaths).toBe(3);
}, 600_000); // patience is measured in progress, above
