import { expect, test } from "vitest";
import { crashClients } from "../crash/clients.ts";
import { CrashWorld, type Fate } from "../crash/scenario.ts";
import { generator } from "../support/long-suite.ts";

/** A few deaths of those that `npm test -- search crash` goes through by the hundred. */
test("over ACP a turn whose gateway or agent is killed is answered, or fails by name with what had arrived; none is asked twice", async () => {
  await using world = await CrashWorld.open(60_000, "ACP");
  const crashed = async (...fates: readonly Fate[]) => {
    const batch = { clients: crashClients, characters: 800, fates, random: generator(1), clientDeaths: 1 };
    const { turns, broken, deaths } = await world.run(batch);
    const faults = turns.filter(
      ({ broken, failed, stalled }) => broken.length > 0 || failed !== undefined || stalled !== undefined,
    );
    expect([faults, broken]).toEqual([[], []]);
    return deaths;
  };
  const stopped = await crashed(
    { kind: "call", rpc: "session/prompt", nth: 4 },
    { kind: "time", afterMs: 700, signal: "SIGTERM" },
  ); // no agent died, so no answer is cut
  expect(stopped).toBeGreaterThan(0);
  const early = await crashed(
    { kind: "write", when: "before", write: 40 },
    { kind: "agent", rpc: "session/prompt", nth: 5, alone: true },
  );
  expect(early).toBe(1);
  const late = await crashed({ kind: "agent", rpc: "session/prompt", nth: 9, alone: false });
  expect(late).toBe(1); // between two prompts of a stream, when the rest has been answered or is in the middle
}, 600_000); // patience is measured in progress, above
