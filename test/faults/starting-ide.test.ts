import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, openai, simulator } from "../support/world.ts";

test("a request that comes while the IDE starts is answered, with one prompt", async () => {
  const home = temporaryHome();
  const client = openai(await gateway({ home }));
  const [answer, ide] = await Promise.all([
    client.chat.completions.create(ask('[[sim: text="here" rate=instant]]')),
    simulator({ home }),
  ]);
  expect(answer.choices[0]?.message.content).toBe("here");
  expect((await ide.report()).messages).toHaveLength(1);
});

test("many requests without any IDE are all told so", async () => {
  const client = openai(await gateway({ home: temporaryHome() }));
  const asked = await Promise.allSettled(
    Array.from({ length: 50 }, () => client.chat.completions.create(ask("hello"))),
  );
  for (const told of asked) expect(told).toMatchObject({ status: "rejected", reason: { status: 424 } });
});
