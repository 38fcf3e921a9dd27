import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../simulator/index.ts";
import { limitsSchema } from "../../src/usage/envelope.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, simulator } from "../support/world.ts";

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
