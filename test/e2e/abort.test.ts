import { expect, test } from "vitest";
import { tierNames } from "../../src/gateway/streams/raw-client.fake.ts";
import { abortStreams, everyCase, ways } from "../abort/abort-streams.ts";
import { AbortWorld } from "../abort/abort-world.ts";
import { cancelTurns, everyCancel } from "../abort/cancel-turns.ts";
import { steps } from "../abort/stream-steps.ts";

/** A share of what `test/faults/abort.test.ts` does at every step, over every tier and in every way. */
test("an abort or a cancel at any step ends the answer once and stops the model", async () => {
  await using world = await AbortWorld.open();
  const all = everyCase(tierNames);
  const perTier = all.length / tierNames.length;
  const cases = steps.flatMap(
    (_, at) => all[(at % tierNames.length) * perTier + at * ways.length + (at % ways.length)] ?? [],
  );
  expect(cases.map(({ step }) => step)).toEqual(steps);
  expect(await abortStreams(world, cases, { atOnce: cases.length, dies: false })).toEqual([]);
  const cancels = everyCancel.filter((_, at) => at % 9 === 1);
  expect(await cancelTurns(world, cancels, { atOnce: cancels.length, dies: false })).toEqual([]);
});
