import { expect, test } from "vitest";
import { ask, collect, model, patience, sharedWorld } from "../support/world.ts";

const shared = sharedWorld(["--continuity", "off"]);

test("an unmodified SDK streams an answer from the IDE, and gets the same one whole", async () => {
  const { client, ide } = shared();
  const before = await ide.report();
  const streamed = await collect(await client.chat.completions.create({ ...ask("count to 12"), stream: true }));
  expect(streamed).toEqual({ text: "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12", reason: "stop" });
  const whole = await client.chat.completions.create({ ...ask("count to 12 "), stream: false });
  expect(whole.choices[0]?.message.content).toBe(streamed.text);
  expect(whole.usage?.completion_tokens).toBeGreaterThan(0);
  const report = await ide.until(
    ({ cascades }) => cascades.length === before.cascades.length + 2 && cascades.every(({ archived }) => archived),
    patience(),
  );
  expect(report.messages).toHaveLength(before.messages.length + 2);
  expect(report.mostPollsAtOnce).toBe(1);
  expect(report.requestIds.notRising).toBe(0);
});

test("the whole history goes upstream", async () => {
  const { client, ide } = shared();
  await client.chat.completions.create({
    model,
    messages: [
      { role: "system", content: "You are terse." },
      { role: "user", content: "My name is Ada." },
      { role: "assistant", content: "Hello Ada." },
      { role: "user", content: "What is my name?" },
    ],
  });
  const message = (await ide.report()).messages.at(-1);
  expect(message?.instructions).toContain("You are terse.");
  for (const part of ["My name is Ada.", "Hello Ada.", "What is my name?"]) expect(message?.text).toContain(part);
  expect(message?.plannerMode).toBe(3);
});

test("the models are the account's own", async () => {
  const { client } = shared();
  const ids = (await client.models.list()).data.map(({ id }) => id);
  expect(ids).toContain(model);
  await expect(client.chat.completions.create({ ...ask("hi"), model: "claude-sonet-4.6" })).rejects.toMatchObject({
    status: 404,
    code: "model_not_found",
    message: expect.stringContaining(model),
  });
});

test("a hundred turns at once each get their own answer, from one cascade each", async () => {
  const { client, ide } = shared();
  const before = await ide.report();
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, index) =>
      collect(
        await client.chat.completions.create({
          ...ask(`[[sim: rate=2000]] echo: answer number ${index}`),
          stream: true,
        }),
      ),
    ),
  );
  expect(answers.map(({ text }) => text)).toEqual(Array.from({ length: 100 }, (_, index) => `answer number ${index}`));
  const report = await ide.until(
    ({ cascades }) => cascades.length === before.cascades.length + 100 && cascades.every(({ archived }) => archived),
    patience(),
  );
  expect(report.messages).toHaveLength(before.messages.length + 100);
});
