import { expect, test } from "vitest";
import { ask, world } from "../support/world.ts";

const quick = { rate: "instant", firstMs: 5, inputMs: 5, thinking: 0 } as const;

test("a client that read its answer gets another one for the same question", async () => {
  const { ide, client } = await world({ simulator: { turn: quick } });
  for (let round = 1; round <= 5; round++) {
    await client.chat.completions.create(ask("the same"));
    for await (const _ of await client.chat.completions.create({ ...ask("the same, streamed"), stream: true }));
    expect((await ide.report()).messages).toHaveLength(2 * round);
  }
});
