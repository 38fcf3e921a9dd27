import { expect, it } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { world } from "../support/world.ts";

it("lists the families of a large account, and finds models by words", async () => {
  const { home } = await world({ simulator: { models: 385 } });
  const all = await millrace(["models"], { home });
  expect(all.code).toBe(0);
  expect(all.stdout).toMatch(/^gpt-6-sol .* 24 variants/m);
  expect(all.stdout).toMatch(/^claude-opus-5\.5 .* 24 variants/m);
  expect(all.stdout).not.toMatch(/^(?:gpt-6|claude-opus-5\.5)\S*:/m);

  const found = await millrace(["models", "OPUS", "5.5", "high-thinking", "--json"], { home });
  const { data } = JSON.parse(found.stdout) as { data: readonly { readonly name: string }[] };
  expect(data.map(({ name }) => name)).toContain("claude-opus-5.5:high-thinking");
  expect(data.filter(({ name }) => !name.startsWith("claude-opus"))).toEqual([]);
  expect((await millrace(["models", "no-such-word"], { home })).stderr).toContain("No model matches.");
  const free = await millrace(["models", "--free", "no-such-word"], { home });
  expect(free.stderr).toContain("No such model is listed as free. `millrace models`");
});
