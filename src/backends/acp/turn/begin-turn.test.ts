import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test, vi } from "vitest";
import { defaultDoors, openDoor } from "../../../base/node/door.ts";
import { until } from "../../../base/wait.fake.ts";
import type { TurnEventBody } from "../../../log/event.ts";
import type { Prompt } from "../../backend.ts";
import { promptFor } from "../../prompt.fake.ts";
import { MovedSessions } from "../session/moved-sessions.ts";
import { NativeKnowledge } from "../session/native-knowledge.ts";
import {
  askingAll,
  collected,
  continued,
  native,
  open,
  options,
  PlayedAgent,
  relayOf,
  session,
} from "./played-agent.fake.ts";

/** Turns of a gateway with this agent; answers the first event. */
function asking(child: PlayedAgent) {
  const all = askingAll(child);
  return async (more: Partial<Prompt> = {}): Promise<TurnEventBody | undefined> => (await all(more))[0];
}

const gaveUp = (method: string, how = "has written nothing for 10 s") => ({
  type: "failed",
  error: {
    code: "upstream_timeout",
    message: expect.stringMatching(
      new RegExp(`"slow" has not answered \`${method}\` .*${how}. The prompt was not sent`),
    ),
    retryAfterMs: 5_000,
  },
});

test.each([
  ["initialize", {}],
  ["session/new", {}],
  ["session/new", { native }],
  ["session/load", continued],
  ["initialize", continued],
])(
  "an agent that is silent for 10 s after `%s` fails the turn by name, and is asked no second time",
  async (method, more) => {
    const child = new PlayedAgent(method);
    const ask = asking(child);
    const failed = ask(more);
    await until(() => child.count(method) > 0);
    await child.clock.advance(10_000);
    expect(await failed).toMatchObject(gaveUp(method));
    expect(await child.whileTimePasses(ask(more))).toMatchObject(gaveUp(method));
    expect([child.count(method), child.count("session/prompt")]).toEqual([1, 0]);
  },
);

test("a turn gets the agent that still starts, and the session that it still opens for a turn before", async () => {
  const child = new PlayedAgent("initialize", "session/new");
  const ask = asking(child);
  expect(await child.whileTimePasses(ask())).toMatchObject(gaveUp("initialize"));
  await child.speak("initialize");
  expect(await child.whileTimePasses(ask())).toMatchObject(gaveUp("session/new"));
  await child.speak("session/new");
  expect(await child.whileTimePasses(ask())).toMatchObject({ type: "started" });
  expect([child.count("initialize"), child.count("session/new"), child.count("session/prompt")]).toEqual([1, 1, 1]);
});

test("an agent that writes something is waited for, for a minute at most", async () => {
  const child = new PlayedAgent("session/new");
  const failed = asking(child)();
  await until(() => child.count("session/new") > 0);
  for (let lines = 0; lines < 6; lines++) {
    await child.clock.advance(9_000);
    child.say({ id: 4_711, result: session }); // another id than that of the request
  }
  await child.clock.advance(6_000);
  expect(await failed).toMatchObject(gaveUp("session/new", "within a minute"));
});

test("sessions with tools have folders of their own where an agent's sessions share servers in one folder", async () => {
  const child = new PlayedAgent("session/prompt");
  child.agentName = "OpenCode";
  const ask = askingAll(child, undefined, "opencode");
  const answers = [ask({ native })];
  await relayOf(child);
  answers.push(ask({ native }));
  await relayOf(child, 2);
  const folders = child.asked.flatMap(({ method, params }) => (method === "session/new" ? [params?.cwd ?? ""] : []));
  expect(folders.map((folder) => basename(folder))).toEqual(["1", "2"]);
  await child.end();
  await Promise.all(answers.map((answer) => child.whileTimePasses(answer)));
});

test("a session whose relay is gone is not gone on with: its calls would reach nobody", async () => {
  const child = new PlayedAgent("session/prompt");
  const ask = askingAll(child);
  const first = child.whileTimePasses(ask({ native }));
  const relay = await relayOf(child);
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Hello." } };
  child.say({ method: "session/update", params: { sessionId: session.sessionId, update } });
  await child.speak("session/prompt");
  expect((await first).at(-1)).toMatchObject({ type: "finished" });
  relay.end();
  await once(relay.resume(), "close"); // the gateway has closed its end too
  const gone = { type: "failed", error: { message: "The agent no longer has the conversation to continue." } };
  expect(await child.whileTimePasses(ask({ ...continued, native }))).toMatchObject([gone]);
  expect(child.count("session/prompt")).toBe(1);
});

test("a host that listens and cannot be had is not gone: the turn waits a minute, and sends nothing", async () => {
  const child = new PlayedAgent();
  const folder = mkdtempSync(join(tmpdir(), "millrace-begin-"));
  const name = `${createHash("sha256").update("slow").digest("hex").slice(0, 8)}-00000001.agent`;
  const door = openDoor(join(folder, name), defaultDoors, (socket) => void socket.end());
  await door.opened;
  const ask = askingAll(child, folder, "slow", { folder });
  const alive = vi.spyOn(options, "onAlive");
  const failed = {
    type: "failed",
    error: { code: "upstream_timeout", message: expect.stringContaining("Nothing was sent") },
  };
  expect(await child.whileTimePasses(ask(continued))).toMatchObject([failed]);
  expect(child.clock.monotonic()).toBeGreaterThanOrEqual(60_000);
  expect(alive.mock.calls.length).toBeGreaterThan(1); // at each look, so that no watch ends the turn
  expect(child.asked).toEqual([]);
  door.close();
  expect((await child.whileTimePasses(ask(continued))).at(-1)).toMatchObject({
    type: "failed",
    error: { code: "upstream_failed" },
  });
  expect(child.count("session/load")).toBe(1);
});

test("a prompt that the agent refuses because it gave up the session is asked anew, with the whole history", async () => {
  const child = new PlayedAgent("session/prompt");
  const ask = askingAll(child);
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Hello." } };
  const answer = async (turns: number, reply: object) => {
    await until(() => child.count("session/prompt") === turns);
    const { id } = child.asked.findLast(({ method }) => method === "session/prompt") ?? {};
    if ("result" in reply) child.say({ method: "session/update", params: { sessionId: session.sessionId, update } });
    child.say({ id, ...reply });
  };
  const ok = { result: { stopReason: "end_turn" } };
  const first = child.whileTimePasses(ask());
  await answer(1, ok);
  expect((await first).at(-1)).toMatchObject({ type: "finished" });
  const whole = { ...promptFor("default"), text: "All of it" };
  const second = child.whileTimePasses(ask({ ...continued, instead: whole }));
  await answer(2, { error: { code: -32002, message: "no such session" } });
  await answer(3, ok);
  expect((await second).at(-1)).toMatchObject({ type: "finished", text: "Hello." });
  expect(child.count("session/new")).toBe(2);
  expect(JSON.stringify(child.asked.findLast(({ method }) => method === "session/prompt"))).toContain("All of it");
});

/** The second turn of a loop of calls, once the agent has the results of the first. `between`: what the agent does before it calls. */
async function secondRound(child: PlayedAgent, between = () => {}) {
  const ask = askingAll(child);
  const first = child.whileTimePasses(ask({ native }));
  const relay = await relayOf(child);
  between();
  relay.write(`${JSON.stringify({ type: "call", call: { callId: "call-1", name: "step", arguments: {} } })}\n`);
  expect((await first).at(-1)).toMatchObject({ reason: { unified: "tool_calls" } });
  const results = [{ callId: "call-1", content: [{ type: "text" as const, text: "ok" }], isError: false }];
  let told = "";
  relay.on("data", (text) => (told += String(text)));
  const answer = child.whileTimePasses(ask({ ...continued, native: { ...native, results } }));
  await until(() => told.includes('"answer"'));
  return { answer, ask };
}

const step = (child: PlayedAgent, kind: string) => {
  const update = { sessionUpdate: "tool_call", toolCallId: "t", title: "One step", kind };
  child.say({ method: "session/update", params: { sessionId: session.sessionId, update } });
};

test("an agent that shows its calls of the client's tools under titles of its own keeps these tools", async () => {
  const child = new PlayedAgent("session/prompt");
  const { answer, ask } = await secondRound(child, () => step(child, "other"));
  await child.speak("session/prompt");
  expect((await answer)[0]).toMatchObject({ type: "started", goesOn: true });
  const next = ask({ native });
  await until(() => child.count("session/new") === 2);
  const { params } = child.asked.findLast(({ method }) => method === "session/new") ?? {};
  expect(params?.mcpServers).toHaveLength(1);
  await child.end();
  await child.whileTimePasses(next);
});

test("an agent that shows its calls of the client's tools as commands of its own fails the turn, and learns them in prose later", async () => {
  const child = new PlayedAgent("session/prompt");
  const noted = vi.spyOn(NativeKnowledge.prototype, "noteWithout");
  const { answer } = await secondRound(child);
  step(child, "execute");
  expect((await answer).at(-1)).toMatchObject({ type: "failed" });
  expect(noted).toHaveBeenCalledOnce();
});

test("the text before a call is in the answer that ends with the call, also where the call comes faster", async () => {
  const child = new PlayedAgent("session/prompt");
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Looking." } };
  child.caughtUp = async () => {
    child.caughtUp = async () => {};
    child.say({ method: "session/update", params: { sessionId: session.sessionId, update } });
  };
  const answer = child.whileTimePasses(askingAll(child)({ native }));
  const relay = await relayOf(child);
  relay.write(`${JSON.stringify({ type: "call", call: { callId: "call-1", name: "step", arguments: {} } })}\n`);
  const events = await answer;
  expect(events.map(({ type }) => type)).toEqual(["started", "text", "tool_call", "usage", "finished"]);
  expect(events.at(-1)).toMatchObject({ text: "Looking." });
});

test("a turn whose session was replaced in its midst is found in the new one after a restart, and not asked again", async () => {
  const child = new PlayedAgent("session/load");
  const folder = mkdtempSync(join(tmpdir(), "millrace-begin-"));
  const { backend } = open(child, folder);
  await new MovedSessions(child.clock, join(folder, "slow")).moved("s", "new", 1);
  const from = { cascadeId: continued.continues, fromStep: 1, text: "", thinking: "" };
  const { signal } = new AbortController();
  const resumed = collected(backend.resume(promptFor("default"), from, options, signal));
  await until(() => child.count("session/load") > 0);
  for (const [sessionUpdate, text] of [
    ["user_message_chunk", "All of it"],
    ["agent_message_chunk", "Hello."],
  ])
    child.say({
      method: "session/update",
      params: { sessionId: "new", update: { sessionUpdate, content: { type: "text", text } } },
    });
  await child.speak("session/load");
  expect(await child.whileTimePasses(resumed)).toMatchObject([{ type: "text", delta: "Hello." }, { type: "failed" }]);
  expect(child.count("session/prompt")).toBe(0);
});

/** What the agent does in a turn, and the turn's request; each ends in a way of its own. */
const endings: Readonly<
  Record<string, { readonly mute?: string; readonly more?: Partial<Prompt>; readonly stop?: true }>
> = {
  "that is answered": {},
  "whose agent takes no tools": { more: { native } },
  "whose stored session is without its prompt": { more: continued },
  "that is stopped while a session opens": { mute: "session/new", stop: true },
  "that is stopped while it is answered": { mute: "session/prompt", stop: true },
};

test.each(Object.entries(endings))(
  "a turn %s gives its process back, which ends five minutes later",
  async (_, { mute, more, stop }) => {
    const child = new PlayedAgent(...(mute === undefined ? [] : [mute]));
    const { backend } = open(child);
    const stopping = new AbortController();
    const turn = collected(
      backend.run({ ...promptFor("default"), ...more }, { ...options, keep: false }, stopping.signal),
    );
    if (stop && mute !== undefined) {
      await until(() => child.count(mute) > 0);
      stopping.abort("cancel");
      await child.speak(mute);
    }
    await child.whileTimePasses(turn);
    expect(child.hasEnded).toBe(false);
    expect(await child.endsUnused()).toBe(true);
  },
);

test("a process that nobody is signed in to is not asked again: a sign-in counts from the next turn on", async () => {
  const child = new PlayedAgent("session/prompt");
  const ask = askingAll(child);
  const failed = child.whileTimePasses(ask());
  await until(() => child.count("session/prompt") === 1);
  const { id } = child.asked.findLast(({ method }) => method === "session/prompt") ?? {};
  child.say({ id, error: { code: -32000, message: "authentication required" } });
  expect((await failed).at(-1)).toMatchObject({ type: "failed", error: { code: "not_signed_in" } });
  await child.speak("session/prompt");
  await child.whileTimePasses(ask());
  expect(child.count("initialize")).toBeGreaterThan(1);
});
