import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../simulator/index.ts";
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
  // The plan has an instant. The limit of the model is a wait in whole seconds, which counts from some moment of the request. Another window would be hours away.
  expect(Math.abs(apartMs)).toBeLessThan(60_000);
  expect(error.resets_at).toMatch(/^\d{4}-/);
});

/** The language server tells the plan, or only the app has saved it. */
const meters: readonly (readonly [string, string, SimulatorOptions])[] = [
  ["the language server's reading", "language_server", {}],
  ["the plan that the app saved", "saved_plan", { missing: ["GetUserStatus", "GetPlanStatus"] }],
];

test.each(meters)(
  "a weekly quota that is used up over ACP names its window, and its reset from %s",
  async (_, source, form) => {
    const home = temporaryHome();
    const plan = { used: 40, usedWeekly: 100 };
    const ide = await simulator({ home, profile: "devin-3", plan, ...form });
    const served = await gateway({ home });
    const headers = { authorization: `Bearer ${served.key}`, "content-type": "application/json" };
    const limits = limitsSchema.parse(await (await fetch(`${served.url}/v1/limits`, { headers })).json());
    expect(limits.data.map((plan) => plan.source)).toEqual([source]);
    const weekly = limits.data.flatMap(({ windows }) => windows).find(({ id }) => id === "weekly");
    const body = JSON.stringify({ ...ask("Hello"), model: "swe-2:high" });
    const response = await fetch(`${served.url}/v1/chat/completions`, { method: "POST", headers, body });
    const { error } = (await response.json()) as { readonly error: { readonly message: string } };
    expect([response.status, response.headers.get("x-millrace-backend")]).toEqual([429, "acp"]);
    expect(error).toMatchObject({ code: "insufficient_quota", resets_at: weekly?.resets_at });
    expect(error.message).toContain("weekly usage quota");
    expect([weekly?.utilization, ide.prompts()]).toEqual([1, []]);
  },
);
