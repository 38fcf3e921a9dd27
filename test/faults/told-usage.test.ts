import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { gateway, openai, simulator } from "../support/world.ts";

/* The tokens that an IDE or an agent told are an answer's, also where another gateway began the answer. */

const answer = { rate: 4_000, size: 1_200 };

test.each([
  { upstream: "a language server", options: {}, model: "claude-sonnet-4.6" },
  { upstream: "an agent", options: { profile: "devin-3" }, model: "swe-2:high" },
] as const)("after a takeover in the middle an answer of $upstream has the usage that it told", async (the) => {
  const home = temporaryHome();
  const ide = await simulator({ home, ...the.options, turn: { ...answer, holdAfter: 600 } });
  const first = await gateway({ home });
  const question = { model: the.model, messages: [{ role: "user" as const, content: "write" }] };
  const key = { headers: { "idempotency-key": "once" } };
  const stream = await openai(first).chat.completions.create({ ...question, stream: true }, key);
  const cut = (async () => {
    for await (const { choices } of stream) if ((choices[0]?.delta.content ?? "") !== "") await first.kill();
  })();
  await expect(cut).rejects.toThrow(/terminated|closed|reset/i);
  const second = await gateway({ home });
  await ide.setTurn(answer);
  await ide.release();
  const { choices, usage } = await openai(second).chat.completions.create(question, key);
  expect(choices[0]?.message.content).toHaveLength(1_200);
  expect(usage).toMatchObject({ millrace: { estimated: false } });
  const fresh = await openai(second).chat.completions.create(question);
  expect(usage?.completion_tokens).toBe(fresh.usage?.completion_tokens);
});
