import { expect, onTestFinished, test } from "vitest";
import type { CascadeId } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { type BackendHarness, describeBackend } from "../backend.conformance.ts";
import { eventsOf } from "../backend.ts";
import { promptFor } from "../prompt.fake.ts";
import { ScriptedHarness } from "./scripted-harness.fake.ts";
import type { AgentPlan, JournalLine } from "./scripted-plan.fake.ts";

describeBackend("ACP, an agent on the official SDK", { trajectories: true }, () => scripted({}));
describeBackend("ACP, an agent that stores sessions before their first prompt", { trajectories: true }, () =>
  scripted({ storesUnprompted: true, noise: true }),
);

async function scripted(always: AgentPlan): Promise<BackendHarness> {
  const harness = await ScriptedHarness.open(always);
  const { backend } = harness.agent();
  const ids = (journal: readonly JournalLine[], what: JournalLine["what"]) =>
    journal.flatMap((line) =>
      line.what === what && "sessionId" in line ? [`acp:devin:${line.sessionId}` as CascadeId] : [],
    );
  return {
    backends: { choose: () => Promise.resolve(backend), holding: () => Promise.resolve(backend) },
    async answer(next) {
      const refusal = { code: -32013, message: "internal" };
      if (!("refuses" in next)) await harness.plan({ ...always, ...next });
      else if (next.refuses === "in the call") await harness.plan({ ...always, refuse: refusal });
      else await harness.plan({ ...always, text: "Half of", stopReason: "refused_by_nobody", updates: [editStep] });
    },
    async counts() {
      const journal = await harness.journal();
      return {
        accepted: ids(journal, "accepted").length,
        cancels: ids(journal, "cancel"),
        archives: ids(journal, "delete"),
      };
    },
    close: () => harness.close(),
  };
}

const editStep = {
  sessionUpdate: "tool_call",
  toolCallId: "t1",
  title: "Write hello.txt",
  kind: "edit",
  status: "pending",
};

test("lines that an agent writes about itself are no part of its answer", async () => {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "[MODE_UPDATE] plan" } };
  const harness = await ScriptedHarness.open({ text: "Hi.", updates: [update, update] });
  onTestFinished(() => harness.close());
  const { backend } = harness.agent();
  const options = { keep: false, onAlive: () => {} };
  const batches = backend.run(promptFor("devin/default"), options, new AbortController().signal);
  let last: TurnEventBody | undefined;
  for await (const event of eventsOf(batches)) last = event;
  expect(last).toMatchObject({ type: "finished", text: "Hi." });
});

test("an agent of an older protocol offers its models, and is set to one of them", async () => {
  const harness = await ScriptedHarness.open({ text: "Hi.", isOlder: true });
  onTestFinished(() => harness.close());
  const agent = harness.agent();
  const { signal } = new AbortController();
  expect(await agent.models(signal)).toMatchObject([
    { id: "small", label: "Small", isCurrent: true },
    { id: "claude-opus-4-7-medium", label: "Opus", isCurrent: false },
  ]);
  const options = { keep: false, onAlive: () => {} };
  const batches = agent.backend.run(promptFor("devin/claude-opus-4-7-medium"), options, signal);
  for await (const event of eventsOf(batches)) expect(event.type).not.toBe("failed");
  const asked = (await harness.journal()).filter(({ what }) => what === "accepted");
  expect(asked).toMatchObject([{ model: "claude-opus-4-7-medium" }]);
});
