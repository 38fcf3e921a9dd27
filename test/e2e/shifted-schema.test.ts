import { expect, test } from "vitest";
import { ask, collect, world } from "../support/world.ts";

test("a build whose field numbers moved is spoken to in its own numbers, read from its own extension", async () => {
  const { client, ide } = await world({ simulator: { schemaSeed: 11 } });
  const ids = (await client.models.list()).data.map(({ id }) => id);
  expect(ids).toContain("claude-sonnet-4.6");
  const answer = await collect(await client.chat.completions.create({ ...ask("count to 7"), stream: true }));
  expect(answer).toEqual({ text: "1, 2, 3, 4, 5, 6, 7", reason: "stop" });
  expect((await ide.report()).messages.map(({ text }) => text)).toEqual(["count to 7"]);
});
