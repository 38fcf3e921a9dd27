import { expect, test } from "vitest";
import { z } from "zod";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, model, openai, patience, simulator } from "../support/world.ts";

test("a gateway killed in the middle of answers loses nothing and sends nothing twice, in the background too", async () => {
  const home = temporaryHome();
  const answers = { rate: 800, size: 1500 };
  const ide = await simulator({ home, turn: { ...answers, holdAfter: 700 } });
  const first = await gateway({ home, args: ["--continuity", "off"] });
  const idempotencyKey = "the-same-question";
  const stream = await openai(first).chat.completions.create(
    { ...ask("write"), stream: true },
    { headers: { "idempotency-key": idempotencyKey } },
  );
  const responses = openai(first).responses;
  const inBackground = await responses.create({
    model,
    input: "[[sim: size=900 rate=150]] at length",
    background: true,
  });
  const toCancel = await responses.create({ model, input: "[[sim: size=9000 rate=50]] for ever", background: true });
  let cursor = -1;
  const seen: string[] = [];
  for await (const event of await responses.retrieve(inBackground.id, { stream: true })) {
    expect(event.sequence_number).toBe(cursor + 1);
    cursor = event.sequence_number;
    if (event.type === "response.output_text.delta") seen.push(event.delta);
    if (seen.join("").length > 100) break;
  }

  // What dies before its cascade's id is stored leaves that cascade behind: so all three are under way.
  await ide.until(({ messages }) => messages.length === 3, patience());
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
  await ide.setTurn(answers);
  await ide.release();
  const answer = await openai(second).chat.completions.create(ask("write"), {
    headers: { "idempotency-key": idempotencyKey },
  });
  const whole = await openai(second).chat.completions.create(
    { ...ask("write"), stream: false },
    { headers: { "idempotency-key": "another" } },
  );
  expect(answer.choices[0]?.message.content).toHaveLength(1500);
  expect(answer.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);

  const later = openai(second).responses;
  expect((await later.cancel(toCancel.id)).status).toBe("cancelled");
  for await (const event of await later.retrieve(inBackground.id, { stream: true, starting_after: cursor })) {
    if (event.type === "response.output_text.delta" && event.sequence_number > cursor) seen.push(event.delta);
  }
  const done = await later.retrieve(inBackground.id);
  expect([done.status, done.output_text.length]).toEqual(["completed", 900]);
  expect(seen.join("")).toBe(done.output_text);
  await later.delete(inBackground.id);
  await expect(later.retrieve(inBackground.id)).rejects.toMatchObject({ status: 404 });

  const report = await ide.until(({ cascades }) => cascades.every(({ archived }) => archived), patience());
  expect(report.messages).toHaveLength(4);

  // The turn's page tells what became of it.
  const turns = await fetchJson(second, "/v1/turns?limit=10");
  const [turn] = z
    .object({ data: z.array(z.object({ id: z.string(), idempotency_key: z.string().nullable() })) })
    .parse(turns)
    .data.filter(({ idempotency_key: key }) => key === idempotencyKey);
  expect(await fetchJson(second, `/dashboard/api/turns/${turn?.id}/summary`)).toMatchObject({
    ide: "devin",
    outcome: "finished",
    shows_text: false,
    prompt: null,
  });

  await ide.stop();
  const again = openai(second).chat.completions.create(ask("write"), {
    headers: { "idempotency-key": idempotencyKey },
  });
  expect((await again).choices).toEqual(answer.choices);
  await expect(openai(second).chat.completions.create(ask("write"))).rejects.toMatchObject({ status: 424 });
});

async function fetchJson({ url, key }: { readonly url: string; readonly key: string }, path: string): Promise<unknown> {
  return (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })).json();
}
