import { expect, it } from "vitest";
import { toolCallsSchema } from "../../src/usage/envelope.ts";
import { millrace } from "../support/gateway-process.ts";
import { ask, world } from "../support/world.ts";

const bash = {
  type: "function",
  function: {
    name: "bash",
    parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
  },
} as const;

it("counts what became of the calls of each model, and still knows it when no gateway runs", async () => {
  const { home, served, client } = await world({ simulator: { turn: { rate: "instant" } } });
  for (const how of ["once", "trailing-comma", "truncated"]) {
    const { choices } = await client.chat.completions.create({ ...ask(`[[sim: agent=${how}]] Look.`), tools: [bash] });
    expect(choices[0]?.finish_reason).toBe("tool_calls");
  }
  const always = client.chat.completions.create({ ...ask("[[sim: agent=always-truncated]] Look."), tools: [bash] });
  await expect(always).rejects.toThrow(/asked twice/);
  await served.stop();
  const { code, stdout } = await millrace(["models", "--tools", "--json"], { home });
  expect(code).toBe(0);
  expect(toolCallsSchema.parse(JSON.parse(stdout)).data).toMatchObject([
    { turns: 4, calls: 4, first_try: 1, repaired: 1, reasked: 1, failed: 1 },
  ]);
});
