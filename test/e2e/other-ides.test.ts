import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { ask, collect, gateway, openai, simulator, world } from "../support/world.ts";

test("of two IDEs Windsurf is asked before Windsurf Next, and the flag chooses", async () => {
  const home = temporaryHome();
  const next = await simulator({ home, profile: "windsurf-next" });
  const windsurf = await simulator({ home });
  const first = await gateway({ home });
  await openai(first).chat.completions.create(ask("count to 3"));
  await first.stop();
  expect([(await windsurf.report()).messages.length, (await next.report()).messages.length]).toEqual([1, 0]);
  const chosen = openai(await gateway({ home, args: ["--ide", "windsurf-next"] }));
  await chosen.chat.completions.create(ask("count to 3"));
  expect([(await windsurf.report()).messages.length, (await next.report()).messages.length]).toEqual([1, 1]);
});

test.each(["windsurf-1.9544", "windsurf-1.8"] as const)("an older build answers too: %s", async (profile) => {
  const { client } = await world({ simulator: { profile } });
  const answer = await collect(
    await client.chat.completions.create({ ...ask("count to 5"), model: "claude-sonnet-4.5", stream: true }),
  );
  expect(answer).toEqual({ text: "1, 2, 3, 4, 5", reason: "stop" });
});
