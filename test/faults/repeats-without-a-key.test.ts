import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, openai, simulator, world } from "../support/world.ts";

const quick = { rate: "instant", firstMs: 5, inputMs: 5, thinking: 0 } as const;

test("a client that read its answer gets another one for the same question", async () => {
  const { ide, client } = await world({ simulator: { turn: quick } });
  for (let round = 1; round <= 5; round++) {
    await client.chat.completions.create(ask("the same"));
    for await (const _ of await client.chat.completions.create({ ...ask("the same, streamed"), stream: true }));
    expect((await ide.report()).messages).toHaveLength(2 * round);
  }
});

test("the same question at two gateways of one user in the same moment is one prompt", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, turn: { ...quick, firstMs: 300 } });
  const gateways = [await gateway({ home }), await gateway({ home })].map(openai);
  await Promise.all(gateways.map((each) => each.models.list())); // both know the IDE by now
  for (let round = 1; round <= 12; round++) {
    const answers = await Promise.all(gateways.map((each) => each.chat.completions.create(ask(`count to ${round}`))));
    expect(new Set(answers.map(({ choices }) => choices[0]?.message.content)).size).toBe(1);
    expect((await ide.report()).messages).toHaveLength(round);
  }
});
