import { expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { openMemoryLog } from "../../log/memory-log.fake.ts";
import { newTurn } from "../../log/turn.fake.ts";
import { assistant, bash, fakeRequest, toolResult, user } from "../prompt/request.fake.ts";
import { Continuity } from "./continuity.ts";
import { openRecall } from "./recall.ts";

const cascadeId = "acp:devin:one" as CascadeId; // a made-up id
const started: TurnEventBody = {
  type: "started",
  modelUid: "m" as ModelUid,
  backend: "acp",
  cascadeId,
  tools: "native",
};
const call: TurnEventBody = {
  type: "tool_call",
  callId: "call-1",
  name: "bash",
  argumentsDelta: '{"command":"ls"}',
  done: true,
};
const ended = (raw: string): TurnEventBody => ({
  type: "finished",
  reason: { unified: "tool_calls", raw },
  text: "Looking.",
});
const first = fakeRequest({ messages: [user("Look")], tools: [bash] });
const called = assistant("Looking.", [{ id: "call-1", name: "bash", arguments: { command: "ls" } }]);

/** A log with a turn that ended like that, and a gateway that knows nothing of it. */
async function left(raw: string, owner = "gone") {
  const clock = new FakeClock();
  const store = openMemoryLog({ clock });
  const { writer } = await store.create(newTurn({ request: first, modelUid: "m", caller: "me", session: "s" }), owner);
  await writer?.append([started, { type: "text", delta: "Looking." }, call, ended(raw)], clock.now());
  const continuity = new Continuity({ clock, idleMs: 60_000, archive: async () => {} });
  const recall = openRecall({ store, continuity, clock, ownerIsGone: (name) => name === "gone" });
  const choose = async (messages = [user("Look"), called, toolResult("call-1", "a.txt")], caller = "me") => {
    const asker = { request: fakeRequest({ messages, tools: [bash] }), modelUid: "m", caller, session: "s" };
    await recall(asker);
    return continuity.choose(asker);
  };
  return { clock, choose };
}

it("results go to the prompt that an ended process left waiting for them, once", async () => {
  const { choose } = await left("parked");
  expect(await choose()).toMatchObject({ type: "reuse", cascadeId });
  expect(await choose()).toMatchObject({ type: "rebuild", reason: "busy" });
});

it("every other request is laid out anew", async () => {
  const { choose, clock } = await left("parked");
  const results = toolResult("call-1", "a.txt");
  expect(await choose([user("Look"), called, user("Stop")])).toMatchObject({ type: "rebuild" });
  expect(await choose([user("Look here"), called, results])).toMatchObject({ type: "rebuild" });
  expect(await choose(undefined, "somebody else")).toMatchObject({ type: "rebuild" });
  await clock.advance(21 * 60_000); // the agent has got an error in place of the results
  expect(await choose()).toMatchObject({ type: "rebuild" });
});

it("a turn whose prompt has ended, or whose process may have it, is left alone", async () => {
  expect(await (await left("end_turn")).choose()).toMatchObject({ type: "rebuild" });
  expect(await (await left("parked", "another")).choose()).toMatchObject({ type: "rebuild" });
});
