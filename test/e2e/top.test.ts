import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { ask, world } from "../support/world.ts";

test("top prints one picture of the running gateway in a pipe, and one reading as JSON", async () => {
  const { home, client } = await world();
  await client.chat.completions.create(ask("Hello"));
  const read = async () =>
    JSON.parse((await millrace(["top", "--json"], { home })).stdout) as { readonly ended: number };
  await expect.poll(async () => (await read()).ended).toBe(1);
  expect(await read()).toMatchObject({ running: 0, waiting: 0, failed: 0, paused: false });
  expect((await millrace(["pause"], { home })).code).toBe(0);
  const { code, stdout } = await millrace(["top"], { home });
  expect(code).toBe(0);
  expect(stdout).toContain("PAUSED");
  expect(stdout).toMatch(/turn_\w+ +finished .*claude-sonnet-4\.6 +openai-chat/);
  expect(stdout).not.toContain("\u001B");
});
