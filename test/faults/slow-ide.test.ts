import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { ask, patienceMs, world } from "../support/world.ts";

test.for([3_000, 8_000])(
  "an IDE each of whose calls takes %i ms is slow, not absent",
  { timeout: 2 * patienceMs },
  async (delayMs) => {
    const faults = [{ rpc: "*", delayMs }];
    const { client, home, ide } = await world({ simulator: { turn: { rate: "instant" }, faults } });
    const { choices } = await client.chat.completions.create(ask("hello"));
    expect(choices[0]?.message.content).toBeTruthy();
    expect((await ide.report()).messages).toHaveLength(1);
    if (delayMs !== 3_000) return;
    expect((await millrace(["doctor"], { home })).stdout).toMatch(/answers slowly: 3\.\d s for one call/);
  },
);
