import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { gateway, openai, patienceMs } from "../support/world.ts";
import { ask, scriptedHome } from "./acp-machine.ts";

const deaths = ["after-store", "working", "mid-answer", "before-reply", "delete"] as const;

test.each([
  { name: "that dies", ends: [] },
  { name: "that dies, and whose gateway is killed after it", ends: ["kill"] },
  { name: "that dies, and whose gateway is stopped after it", ends: ["stop"] },
] as const)("an agent $name keeps no session of a turn that is over", { timeout: 2 * patienceMs }, async ({ ends }) => {
  const { home, folder, plan, journal } = scriptedHome();
  const sessions = () => readdirSync(join(folder, "sessions"));
  plan({});
  const args = ["--continuity", "off"];
  let served = await gateway({ home, args });
  for (const crashAt of deaths) {
    plan({ crashAt, storesParts: true });
    await openai(served)
      .chat.completions.create(ask(`Die at ${crashAt}.`, "fake/small"), { headers: { "idempotency-key": crashAt } })
      .catch(() => {}); // an answer that was cut fails by name
    for (const end of ends) {
      await served[end]();
      served = await gateway({ home, args });
    }
  }
  await expect.poll(sessions, { timeout: patienceMs, interval: 500 }).toEqual([]);
  // after several deaths in a row an agent is not started again at once, so the last question may be refused
  const prompts = journal().flatMap((line) => (line.what === "accepted" ? [line.text] : []));
  expect(prompts.length).toBeGreaterThanOrEqual(deaths.length - 1);
  expect(new Set(prompts).size).toBe(prompts.length);
});
