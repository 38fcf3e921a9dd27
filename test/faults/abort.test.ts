import { expect, test } from "vitest";
import { tierNames } from "../../src/gateway/streams/raw-client.fake.ts";
import { abortStreams, everyCase } from "../abort/abort-streams.ts";
import { AbortWorld } from "../abort/abort-world.ts";
import { cancelTurns, everyCancel } from "../abort/cancel-turns.ts";

test.each(tierNames)(
  "an abort at any step of a stream over %s, in any way, ends it once and stops the model",
  async (tier) => {
    await using world = await AbortWorld.open();
    expect(await abortStreams(world, everyCase([tier]), { atOnce: 14, dies: false })).toEqual([]);
  },
  600_000,
);

test("an abort that was acknowledged holds when the gateway is killed at once", async () => {
  await using world = await AbortWorld.open();
  const cases = everyCase(tierNames, ["here, with a number", "afresh"]);
  expect(await abortStreams(world, cases, { atOnce: 14, dies: true })).toEqual([]);
}, 600_000);

test.each([false, true])(
  "a cancel over HTTP at any step ends a turn once and stops the model; killed at once: %s",
  async (dies) => {
    await using world = await AbortWorld.open();
    expect(await cancelTurns(world, everyCancel, { atOnce: 10, dies })).toEqual([]);
  },
  600_000,
);
