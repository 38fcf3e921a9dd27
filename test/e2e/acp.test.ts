import { expect, it } from "vitest";
import { opening } from "../../src/backends/acp/session/prompt-blocks.ts";
import { collect, world } from "../support/world.ts";

const afterOpening = (text: string) => `${opening}\n\n${text}`;

// Every API, machine and death over the agent: test/faults/acp.test.ts.
it("an answer of the IDE's agent program is streamed, for one prompt", async () => {
  const { ide, client } = await world({ simulator: { profile: "devin-3" } });
  const messages = [{ role: "user" as const, content: "count to 7" }];
  const chat = client.chat.completions.create({ model: "swe-2:high", messages, stream: true });
  const { data, response } = await chat.withResponse();
  expect(response.headers.get("x-millrace-backend")).toBe("acp");
  expect(await collect(data)).toEqual({ text: "1, 2, 3, 4, 5, 6, 7", reason: "stop" });
  expect(ide.prompts().map(({ text }) => text)).toEqual([afterOpening("count to 7")]);
});

it("an effort that is an option of its own is listed with its models, and a request's effort sets it", async () => {
  const { ide, client, served } = await world({ simulator: { profile: "devin-3", agent: { efforts: true } } });
  const ids = (await client.models.list()).data.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(["claude-sonnet-5", "claude-sonnet-5:low", "claude-sonnet-5:high"]));
  const ask = (model: string, content: string, more: object = {}) =>
    client.chat.completions.create({ model, messages: [{ role: "user", content }], ...more });
  await ask("claude-sonnet-5", "echo: as it is");
  await ask("claude-sonnet-5", "echo: hard", { reasoning_effort: "high" });
  await ask("claude-sonnet-5:low", "echo: named");
  await ask("swe-2:high", "echo: in its id");
  await fetch(`${served.url}/v1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${served.key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "claude-sonnet-5",
      max_tokens: 30_000,
      thinking: { type: "enabled", budget_tokens: 20_000 },
      messages: [{ role: "user", content: "echo: thinking" }],
    }),
  });
  const seen = ide.prompts().map(({ text, model, effort }) => [text, model, effort]);
  expect(seen).toEqual([
    [afterOpening("echo: as it is"), "claude-sonnet-5", "medium"],
    [afterOpening("echo: hard"), "claude-sonnet-5", "high"],
    [afterOpening("echo: named"), "claude-sonnet-5", "low"],
    [afterOpening("echo: in its id"), "swe-2-high", "medium"],
    [afterOpening("echo: thinking"), "claude-sonnet-5", "high"],
  ]);
});
