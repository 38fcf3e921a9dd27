import { expect, test } from "vitest";
import { CrashWorld } from "../crash/scenario.ts";

/** A few deaths of those that `npm run test:crash` goes through by the hundred. */
test("turns survive a gateway that is killed at a write of its store, at a call to the IDE, and in the middle of answers", async () => {
  await using world = await CrashWorld.open();
  const { broken, deaths } = await world.run(6, 1500, [
    { kind: "write", when: "before", write: 14 },
    { kind: "call", rpc: "SendUserCascadeMessage", nth: 2 },
    { kind: "time", afterMs: 700 },
  ]);
  expect(broken).toEqual([]);
  expect(deaths).toBe(3);
}, 120_000);
