import { expect, it } from "vitest";
import { ask, world } from "../support/world.ts";

it("an IDE each of whose calls takes three seconds is slow, not absent", async () => {
  const faults = [{ rpc: "*", delayMs: 3_000 }];
  const { client } = await world({ simulator: { turn: { rate: "instant" }, faults } });
  const { choices } = await client.chat.completions.create(ask("hello"));
  expect(choices[0]?.message.content).toBeTruthy();
});
