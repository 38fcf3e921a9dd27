import { afterEach, expect, test } from "vitest";
import type { CascadeId } from "../../../base/ids.ts";
import type { TurnEventBody } from "../../../log/event.ts";
import { eventsOf } from "../../backend.ts";
import { promptFor } from "../../prompt.fake.ts";
import type { AcpAgent } from "../agent.ts";
import { ScriptedHarness } from "../scripted-harness.fake.ts";
import type { AgentPlan } from "../scripted-plan.fake.ts";

const prompt = promptFor("devin/small");
const text = "Hello there, friend.";

let harness: ScriptedHarness;
afterEach(() => harness.close());

async function open(plan: AgentPlan): Promise<AcpAgent> {
  harness = await ScriptedHarness.open(plan);
  return harness.agent();
}

/** Runs a turn up to its end, or up to the first text where it is to be cancelled. */
async function run(agent: AcpAgent, stopsAtText = false) {
  const left: string[] = [];
  const events: TurnEventBody[] = [];
  const stopping = new AbortController();
  const options = { keep: false, onAlive: () => {}, onLeft: (cascadeId: CascadeId) => void left.push(cascadeId) };
  for await (const event of eventsOf(agent.backend.run(prompt, options, stopping.signal))) {
    events.push(event);
    if (stopsAtText && event.type === "text") stopping.abort("cancel");
  }
  const started = events.find(({ type }) => type === "started");
  if (started?.type !== "started" || started.cascadeId === undefined) throw new Error("not begun");
  return { left, last: events.at(-1), cascadeId: started.cascadeId };
}

const archive = (agent: AcpAgent, cascadeId: CascadeId) =>
  agent.backend.archive(cascadeId, new AbortController().signal);

test("a session whose agent dies while it is deleted is left, and a new process deletes it later", async () => {
  const agent = await open({ text, crashAt: "delete" });
  const { left, last, cascadeId } = await run(agent);
  expect(last).toMatchObject({ type: "finished", text });
  expect([left, await harness.count("delete")]).toEqual([[cascadeId], 0]);
  await archive(agent, cascadeId);
  expect(await harness.count("delete")).toBe(1);
});

test("the same after a cancel, where a note says already that the session was discarded", async () => {
  const agent = await open({ text, holds: true, crashAt: "delete" });
  const { left, cascadeId } = await run(agent, true);
  expect([left, await harness.count("delete")]).toEqual([[cascadeId], 0]);
  await archive(agent, cascadeId);
  expect(await harness.count("delete")).toBe(1);
});

test("archiving says that it failed when the agent dies meanwhile", async () => {
  const agent = await open({ text, crashAt: "delete" });
  const { cascadeId } = await run(agent);
  await harness.plan({ text, crashAt: "delete" });
  await expect(archive(agent, cascadeId)).rejects.toThrow("SIGKILL");
  await archive(agent, cascadeId);
  expect(await harness.count("delete")).toBe(1);
});

test("a session that is deleted is not left", async () => {
  const agent = await open({ text });
  const { left } = await run(agent);
  expect([left, await harness.count("delete")]).toEqual([[], 1]);
});
