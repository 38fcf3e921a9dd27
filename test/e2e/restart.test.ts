import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, openai, patience, simulator } from "../support/world.ts";

test("a gateway killed in the middle of an answer loses nothing and sends nothing twice", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, turn: { rate: 800, size: 1500 } });
  const first = await gateway({ home, args: ["--continuity", "off"] });
  const idempotencyKey = "the-same-question";
  const stream = await openai(first).chat.completions.create(
    { ...ask("write"), stream: true },
    { headers: { "idempotency-key": idempotencyKey } },
  );
  await expect(
    (async () => {
      let received = 0;
      for await (const chunk of stream) {
        received += chunk.choices[0]?.delta.content?.length ?? 0;
        if (received > 200) await first.kill();
      }
    })(),
  ).rejects.toThrow(/terminated|closed|reset/i);

  const second = await gateway({ home, args: ["--continuity", "off"] });
  const answer = await openai(second).chat.completions.create(ask("write"), {
    headers: { "idempotency-key": idempotencyKey },
  });
  const whole = await openai(second).chat.completions.create(
    { ...ask("write"), stream: false },
    { headers: { "idempotency-key": "another" } },
  );
  expect(answer.choices[0]?.message.content).toHaveLength(1500);
  expect(answer.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
  const report = await ide.until(({ cascades }) => cascades.every(({ archived }) => archived), patience());
  expect(report.messages).toHaveLength(2);

  await ide.stop();
  const again = openai(second).chat.completions.create(ask("write"), {
    headers: { "idempotency-key": idempotencyKey },
  });
  expect((await again).choices).toEqual(answer.choices);
  await expect(openai(second).chat.completions.create(ask("write"))).rejects.toMatchObject({ status: 503 });
});
