import { expect, test } from "vitest";
import { limitsSchema } from "../../src/usage/envelope.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, simulator } from "../support/world.ts";

test("a quota refusal says when the quota resets, as /v1/limits does", async () => {
  const home = temporaryHome();
  await simulator({ home, plan: { shape: "percent", used: 100 } });
  const served = await gateway({ home });
  const headers = { authorization: `Bearer ${served.key}`, "content-type": "application/json" };
  const limits = limitsSchema.parse(await (await fetch(`${served.url}/v1/limits`, { headers })).json());
  const resets = limits.data.flatMap(({ windows }) => windows).filter(({ utilization }) => utilization === 1);
  const body = JSON.stringify({ ...ask("Hello"), model: "claude-opus-4.7-high" });
  const response = await fetch(`${served.url}/v1/chat/completions`, { method: "POST", headers, body });
  const { error } = (await response.json()) as {
    readonly error: { readonly code: string; readonly resets_at?: string };
  };
  const apartMs = Date.parse(error.resets_at ?? "") - Date.parse(resets[0]?.resets_at ?? "");
  expect(Math.abs(apartMs)).toBeLessThan(1000); // the plan has an instant, the limit of the model a wait in seconds
  expect(error.resets_at).toMatch(/^\d{4}-/);
});
