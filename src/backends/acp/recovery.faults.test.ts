import { afterEach, describe, expect, test } from "vitest";
import type { CascadeId } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { eventsOf, type Prompt, type ResumePoint } from "../backend.ts";
import { promptFor } from "../prompt.fake.ts";
import { replay } from "../replay.fake.ts";
import type { AcpAgent, AcpAgentOptions, AcpAgentSpec } from "./agent.ts";
import { ScriptedHarness } from "./scripted-harness.fake.ts";
import type { AgentPlan } from "./scripted-plan.fake.ts";

const prompt = promptFor("devin/small");
const options = { keep: false, onAlive: () => {} };
const never = () => new AbortController().signal;
const text = "Hello there, friend.";
const other = { vendor: "other", allowsActions: true } as const;

let harness: ScriptedHarness;
afterEach(async () => {
  await harness.close();
});

async function open(plan: AgentPlan, spec: Partial<AcpAgentSpec> = {}, more: Partial<AcpAgentOptions> = {}) {
  harness = await ScriptedHarness.open(plan, spec);
  return harness.agent(more);
}

async function all(batches: AsyncIterable<readonly TurnEventBody[]>): Promise<TurnEventBody[]> {
  const events: TurnEventBody[] = [];
  for await (const event of eventsOf(batches)) events.push(event);
  return events;
}

const run = (agent: AcpAgent, asked: Partial<Prompt> = {}) =>
  all(agent.backend.run({ ...prompt, ...asked }, options, never()));
const resume = (agent: AcpAgent, from: ResumePoint, asked: Partial<Prompt> = {}) =>
  all(agent.backend.resume({ ...prompt, ...asked }, from, options, never()));

/** A turn up to `started`, as a gateway leaves it that is killed before the next batch; and the gateway is gone. */
async function begunAndLost(agent: AcpAgent): Promise<CascadeId> {
  const controller = new AbortController();
  const events = eventsOf(agent.backend.run(prompt, options, controller.signal));
  const first = await events.next();
  controller.abort("detach");
  await events.return();
  await agent.close();
  if (first.done === true || first.value.type !== "started" || first.value.cascadeId === undefined)
    throw new Error("not begun");
  return first.value.cascadeId;
}

/** A turn whose prompt was sent and whose process then died with the gateway. */
async function askedAndLost(agent: AcpAgent): Promise<CascadeId> {
  const controller = new AbortController();
  const events = eventsOf(agent.backend.run(prompt, options, controller.signal));
  const first = await events.next();
  const next = events.next().catch(() => {});
  await expect.poll(() => harness.count("accepted")).toBe(1);
  await expect.poll(async () => (await agent.stats()).processes).toEqual([]);
  controller.abort("detach");
  await next;
  await agent.close();
  if (first.done === true || first.value.type !== "started" || first.value.cascadeId === undefined)
    throw new Error("not begun");
  return first.value.cascadeId;
}

describe("the agent's process dies in the middle of a turn", () => {
  test("before it took the prompt: the prompt is sent once more, to a new process", async () => {
    const agent = await open({ text, crashAt: "before-store" });
    const events = await run(agent);
    expect(events.at(-1)).toMatchObject({ type: "finished", text });
    expect(await harness.count("accepted")).toBe(1);
    expect(await agent.stats()).toMatchObject({ starts: 2, crashes: 1 });
  });

  test.each(["initialize", "new"] as const)(
    "at %s: a new process answers, and gets the only prompt",
    async (crashAt) => {
      const agent = await open({ text, crashAt });
      const events = await run(agent);
      expect(events.at(-1)).toMatchObject({ type: "finished", text });
      expect(await harness.count("accepted")).toBe(1);
    },
  );

  test("at initialize each time: the turn fails after the second process", async () => {
    const agent = await open({ text, crashAt: "initialize", crashesAgain: true });
    const events = await run(agent);
    expect(events.at(-1)).toMatchObject({ type: "failed", error: { code: "upstream_failed" } });
    expect((await agent.stats()).starts).toBe(2);
  });

  test("each time it is given the prompt: the turn fails by name, and the prompt arrived nowhere", async () => {
    const agent = await open({ text, crashAt: "before-store", crashesAgain: true });
    const events = await run(agent);
    expect(events.at(-1)).toMatchObject({ type: "failed", error: { code: "upstream_failed" } });
    expect(await harness.count("accepted")).toBe(0);
  });

  test("after it took the prompt: the turn fails by name, and nothing is sent again", async () => {
    const agent = await open({ text, crashAt: "after-store" });
    const events = await run(agent);
    expect(events.at(-1)).toMatchObject({
      type: "failed",
      error: { code: "upstream_failed", message: expect.stringContaining("before it said") },
    });
    expect(await harness.count("accepted")).toBe(1);
  });

  test("after it began to work, and its session is lost: nothing is sent again", async () => {
    const updates = [{ sessionUpdate: "plan", entries: [] }];
    const agent = await open({ text, crashAt: "working", loses: true, updates });
    const failed = { type: "failed", error: { message: expect.stringContaining("no longer has the session") } };
    expect((await run(agent)).at(-1)).toMatchObject(failed);
    expect(await harness.count("accepted")).toBe(1);
  });

  test("in the middle of the answer: what was written is kept, the turn fails by name", async () => {
    const agent = await open({ text, crashAt: "mid-answer", storesParts: true });
    const events = await run(agent);
    expect(replay(events).text).toBe("Hello ther");
    expect(events.at(-1)).toMatchObject({ type: "failed", error: { code: "upstream_failed" } });
    expect(await harness.count("accepted")).toBe(1);
  });

  test("after the whole answer, and its end is stored: the turn finishes from the replay, with the usage that was told before", async () => {
    const usage = { sessionUpdate: "usage_update", used: 8, size: 100, _meta: { inputTokens: 3, outputTokens: 5 } };
    const agent = await open({ text, updates: [usage], crashAt: "before-reply", marksEnd: true });
    const events = await run(agent);
    expect(events.at(-2)).toMatchObject({ type: "usage", promptTokens: 3, completionTokens: 5, estimated: false });
    expect(events.at(-1)).toMatchObject({ type: "finished", text });
    expect(replay(events).text).toBe(text);
    expect(await harness.count("accepted")).toBe(1);
  });

  test("after the whole answer, and no sign of its end: the turn fails by name and keeps it", async () => {
    const agent = await open({ text, crashAt: "before-reply" });
    const events = await run(agent);
    expect(events.at(-1)).toMatchObject({ type: "failed", error: { code: "upstream_failed" } });
    expect(replay(events).text).toBe(text);
  });

  test("an agent that cannot load sessions: the turn fails rather than asks again", async () => {
    const agent = await open({ text, crashAt: "before-store", can: { load: false } });
    const events = await run(agent);
    expect(events.at(-1)).toMatchObject({
      type: "failed",
      error: { message: expect.stringContaining("cannot open a session") },
    });
    expect(await harness.count("accepted")).toBe(0);
  });
});

describe("the gateway dies in the middle of a turn", () => {
  test("before the prompt was sent, at an agent that stores no empty session: it is sent once, also when that dies too", async () => {
    const cascadeId = await begunAndLost(await open({ text }));
    await harness.plan({ text, crashAt: "after-store" });
    const from = { cascadeId, text: "", thinking: "" };
    const second = await askedAgain(from);
    expect(second.at(-1)).toMatchObject({ type: "failed" });
    expect(await harness.count("accepted")).toBe(1);
  });

  test("a second death after the prompt went to a new session: the note leads there, and nothing is sent again", async () => {
    const cascadeId = await begunAndLost(await open({ text }));
    await harness.plan({ text, holds: true });
    const from = { cascadeId, text: "", thinking: "" };
    const second = harness.agent();
    const controller = new AbortController();
    const events = eventsOf(second.backend.resume(prompt, from, options, controller.signal));
    expect((await events.next()).value).toMatchObject({ type: "text" });
    controller.abort("detach");
    await events.next();
    await second.close();
    await harness.plan({ text });
    const third = await askedAgain(from);
    expect(third.at(-1)).toMatchObject({
      type: "failed",
      error: { message: expect.stringContaining("before it said") },
    });
    expect(await harness.count("accepted")).toBe(1);
  });

  test("before the prompt was sent, at an agent that stores sessions at once: it goes to the same session, once", async () => {
    const cascadeId = await begunAndLost(await open({ text, storesUnprompted: true }));
    const events = await askedAgain({ cascadeId, text: "", thinking: "" });
    expect(events.at(-1)).toMatchObject({ type: "finished", text });
    const accepted = (await harness.journal()).filter((line) => line.what === "accepted");
    expect(accepted.map((line) => `acp:devin:${line.sessionId}`)).toEqual([cascadeId]);
  });

  test("and the agent dies too while its session is opened again: the prompt is sent once", async () => {
    const agent = await open({ text, storesUnprompted: true });
    const cascadeId = await begunAndLost(agent);
    await harness.plan({ text, crashAt: "load" });
    const events = await resume(harness.agent(), { cascadeId, text: "", thinking: "" });
    expect(events.at(-1)).toMatchObject({ type: "finished", text });
    expect(await harness.count("accepted")).toBe(1);
  });

  test("after it cancelled the turn and deleted its session, before the end was stored: nothing is sent again", async () => {
    const agent = await open({ text, holds: true });
    const controller = new AbortController();
    const events = eventsOf(agent.backend.run(prompt, options, controller.signal));
    const first = await events.next();
    if (first.done === true || first.value.type !== "started") throw new Error("not begun");
    await events.next();
    controller.abort("cancel");
    await events.next();
    expect(await harness.count("delete")).toBe(1);
    const { cascadeId } = first.value;
    const again = await askedAgain({ cascadeId, text: "", thinking: "" });
    expect(again).toEqual([{ type: "failed", error: expect.objectContaining({ code: "upstream_failed" }) }]);
    expect(await harness.count("accepted")).toBe(1);
  });

  test("a session is deleted after the end of its turn was taken, not before", async () => {
    const agent = await open({ text });
    const events = agent.backend.run(prompt, options, never())[Symbol.asyncIterator]();
    let last: TurnEventBody | undefined;
    while (last?.type !== "finished") last = (await events.next()).value?.at(-1);
    expect(await harness.count("delete")).toBe(0);
    await events.next();
    expect(await harness.count("delete")).toBe(1);
  });

  test("another vendor's agent that does not know the session: fails, because it may have been asked already", async () => {
    const cascadeId = await begunAndLost(await open({ text }, { vendor: "other" }));
    const events = await askedAgain({ cascadeId, text: "", thinking: "" });
    expect(events).toEqual([{ type: "failed", error: expect.objectContaining({ code: "upstream_failed" }) }]);
    expect(await harness.count("accepted")).toBe(0);
  });

  test("after the whole answer: the turn finishes from the replay, with what the log lacks", async () => {
    const agent = await open({ text, crashAt: "before-reply", marksEnd: true, can: {} });
    const cascadeId = await deadAfterAnswer(agent);
    const events = await askedAgain({ cascadeId, text: "Hello", thinking: "" });
    expect(events[0]).toEqual({ type: "text", delta: " there, friend." });
    expect(events.at(-1)).toMatchObject({ type: "finished", text });
    expect(await harness.count("accepted")).toBe(1);
    expect(await harness.count("delete")).toBe(1);
  });

  test.each(["OpenCode", "qwen-code", "@agentclientprotocol/claude-agent-acp"])(
    "%s: a stored text without a sign of its end is a part of an answer",
    async (agentName) => {
      const agent = await open({ text, crashAt: "mid-answer", storesParts: true, agentName }, other);
      const cascadeId = await deadAfterAnswer(agent);
      const events = await askedAgain({ cascadeId, text: "", thinking: "" });
      expect([replay(events).text, events.at(-1)]).toMatchObject([
        "Hello ther",
        { type: "failed", error: { message: expect.stringContaining("before it said") } },
      ]);
      expect(await harness.count("accepted")).toBe(1);
    },
  );

  test("token counts of the stored message are a sign of its end, and are the turn's usage", async () => {
    const agent = await open({ text, crashAt: "before-reply", countsMessages: true }, other);
    const cascadeId = await deadAfterAnswer(agent);
    const events = await askedAgain({ cascadeId, text: "", thinking: "" });
    expect(events.slice(-2)).toMatchObject([
      { type: "usage", promptTokens: 3, completionTokens: 5, estimated: false },
      { type: "finished", text },
    ]);
  });

  test("a session that another process holds is waited for", async () => {
    const whole = { text, marksEnd: true };
    const agent = await open({ ...whole, crashAt: "before-reply" });
    const cascadeId = await deadAfterAnswer(agent);
    await harness.plan({ ...whole, locked: true, onLocked: whole });
    const events = await askedAgain({ cascadeId, text: "", thinking: "" });
    expect(events.at(-1)).toMatchObject({ type: "finished", text });
    expect(await harness.count("load")).toBe(2);
  });

  test("a session that stays locked: the turn fails by name", async () => {
    const cascadeId = await begunAndLost(await open({ text, locked: true }));
    const events = await all(
      harness.agent({ lockedMs: 1 }).backend.resume(prompt, { cascadeId, text: "So", thinking: "" }, options, never()),
    );
    expect(events).toEqual([
      { type: "failed", error: expect.objectContaining({ message: expect.stringContaining("still has the session") }) },
    ]);
    expect(await harness.count("accepted")).toBe(0);
  });

  test("a log that holds some of the answer: the prompt is never sent again, for any state of the agent", async () => {
    const cascadeId = await begunAndLost(await open({ text, storesUnprompted: true }));
    const events = await askedAgain({ cascadeId, text: "Hel", thinking: "" });
    expect(events).toEqual([{ type: "failed", error: expect.objectContaining({ code: "upstream_failed" }) }]);
    expect(await harness.count("accepted")).toBe(0);
  });

  async function askedAgain(from: ResumePoint): Promise<TurnEventBody[]> {
    return await resume(harness.agent(), from);
  }

  /** The agent answers, dies before its reply, and its gateway with it. */
  async function deadAfterAnswer(agent: AcpAgent): Promise<CascadeId> {
    return await askedAndLost(agent);
  }
});

test("a conversation continues in its session after the process has changed", async () => {
  const agent = await open({ text: "First." });
  const kept = { keep: true, onAlive: () => {} };
  const first = await all(agent.backend.run(prompt, kept, never()));
  const cascadeId = first[0]?.type === "started" ? first[0].cascadeId : undefined;
  await agent.close();
  await harness.plan({ text: "Second." });
  const second = await run(harness.agent(), { text: "And now?", continues: cascadeId });
  expect(second[0]).toMatchObject({ type: "started", cascadeId, fromStep: 1 });
  expect(second.at(-1)).toMatchObject({ type: "finished", text: "Second." });
  expect(replay(second).text).toBe("Second.");
});

test("a conversation that the agent has lost fails before anything is begun", async () => {
  const agent = await open({ text });
  const events = await run(agent, { continues: "acp:devin:gone" as CascadeId });
  expect(events).toEqual([{ type: "failed", error: expect.objectContaining({ code: "upstream_failed" }) }]);
  expect(await harness.count("accepted")).toBe(0);
});
