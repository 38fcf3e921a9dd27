import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import type { AgentPlan, JournalLine } from "../../src/backends/acp/scripted-plan.fake.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, openai, patienceMs } from "../support/world.ts";
import { ask } from "./acp-machine.ts";

const agentFile = join(import.meta.dirname, "../../src/backends/acp/scripted-agent.fake.ts");

/** A home whose user configured an agent on the protocol's own library, which stores its sessions in a folder. */
function agentHome() {
  const home = temporaryHome();
  const folder = join(home, "agent");
  mkdirSync(folder);
  mkdirSync(join(home, ".millrace"), { mode: 0o700 });
  const command = JSON.stringify([process.execPath, agentFile]);
  writeFileSync(
    join(home, ".millrace/config.toml"),
    `[[agents]]\nname = "fake"\ncommand = ${command}\nset = { FAKE_AGENT_FOLDER = ${JSON.stringify(folder)} }\n`,
  );
  return {
    home,
    plan: (plan: AgentPlan) =>
      writeFileSync(join(folder, "plan.json"), JSON.stringify({ text: "Hello there, friend.", ...plan })),
    sessions: () => readdirSync(join(folder, "sessions")),
    journal: () =>
      readFileSync(join(folder, "journal.jsonl"), "utf8")
        .split("\n")
        .flatMap((line) => (line === "" ? [] : (JSON.parse(line) as JournalLine))),
  };
}

const deaths = ["after-store", "working", "mid-answer", "before-reply", "delete"] as const;

test.each([
  { name: "that dies", ends: [] },
  { name: "that dies, and whose gateway is killed after it", ends: ["kill"] },
  { name: "that dies, and whose gateway is stopped after it", ends: ["stop"] },
] as const)("an agent $name keeps no session of a turn that is over", { timeout: 2 * patienceMs }, async ({ ends }) => {
  const { home, plan, sessions, journal } = agentHome();
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
