import { mkdtempSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { CascadeId } from "../../../base/ids.ts";
import { until } from "../../../base/wait.fake.ts";
import type { TurnEventBody } from "../../../log/event.ts";
import type { Prompt } from "../../backend.ts";
import { promptFor } from "../../prompt.fake.ts";
import { MovedSessions } from "../session/moved-sessions.ts";
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

/** A turn whose prompt the agent has; `alive` counts the signs of life that the turn was told. */
async function prompted(more: Partial<Prompt> = {}, place?: { readonly child: PlayedAgent; readonly folder: string }) {
  const { child, folder } = place ?? { child: new PlayedAgent("session/prompt"), folder: undefined };
  const alive: number[] = [];
  const { backend } = open(child, folder);
  const told = { ...options, onAlive: () => void alive.push(child.clock.monotonic()) };
  const asked = child.count("session/prompt");
  const events = collected(backend.run({ ...promptFor("default"), ...more }, told, new AbortController().signal));
  await until(() => child.count("session/prompt") > asked);
  return { child, events, alive, backend };
}

const failed = (words: string) => ({ type: "failed", error: { message: expect.stringContaining(words) } });

test("an agent that writes nothing for five minutes ends its turn, and each sign of life begins them anew", async () => {
  const { child, events, alive } = await prompted();
  let hasEnded = false;
  void events.then(() => (hasEnded = true));
  await child.clock.advance(0);
  expect(child.clock.sleeping).toBe(1); // the look for silence; that for an agent that is too slow is over
  child.text("Half");
  await child.clock.advance(299_000);
  child.update({ sessionUpdate: "usage_update" });
  await child.clock.advance(299_000);
  expect(hasEnded).toBe(false);
  expect(alive.length).toBeGreaterThan(100); // it is told every 5 s
  await child.clock.advance(10_000);
  expect((await events).slice(-2)).toMatchObject([{ type: "text", delta: "Half" }, failed("silent for too long")]);
});

test("a part of a line whose rest does not come ends the turn after half a minute", async () => {
  const { child, events } = await prompted();
  let hasEnded = false;
  void events.then(() => (hasEnded = true));
  child.mutter('{"jsonrpc":"2.0","method":"session/upd');
  await child.clock.advance(29_000);
  expect(hasEnded).toBe(false);
  await child.clock.advance(6_000);
  expect((await events).at(-1)).toMatchObject(failed("in the middle of a message"));
});

/** The agent says that the prompt is answered. */
function reply(child: PlayedAgent, result: object = { stopReason: "end_turn" }): void {
  const { id } = child.asked.findLast(({ method }) => method === "session/prompt") ?? {};
  child.say({ id, result });
}

test.each([
  ["a quarter of a second where the answer has text", "Hello", 240],
  ["two seconds where it has none", "", 1_990],
])("what an agent writes after its answer's end counts for %s", async (_, first, lateMs) => {
  const { child, events } = await prompted();
  if (first !== "") child.text(first);
  reply(child);
  await child.clock.advance(lateMs);
  child.text(", world");
  await child.clock.advance(240);
  child.text("!");
  await child.clock.advance(260);
  expect((await events).at(-1)).toMatchObject({ type: "finished", text: `${first}, world!` });
});

test("an answer ends a moment after the agent's word that it is complete, and at once where it said why it stopped", async () => {
  const { child, events } = await prompted();
  child.text("Hello");
  reply(child);
  await child.clock.advance(260);
  expect((await events).at(-1)).toMatchObject({ type: "finished", text: "Hello" });
  expect(child.clock.sleeping).toBe(1); // the process's warm time

  const other = await prompted();
  other.child.text("Hello");
  other.child.say({ method: "_cognition.ai/agent_stopped", params: { sessionId: "s", cause: "complete" } });
  reply(other.child);
  await other.child.clock.advance(0);
  expect((await other.events).at(-1)).toMatchObject({ type: "finished", text: "Hello" });
});

const call = (relay: Socket, callId: string) =>
  void relay.write(`${JSON.stringify({ type: "call", call: { callId, name: "step", arguments: {} } })}\n`);
const announce = (child: PlayedAgent, ...ids: readonly string[]) => {
  const [server] = child.asked.findLast(({ method }) => method === "session/new")?.params?.mcpServers ?? [];
  for (const toolCallId of ids)
    child.update({ sessionUpdate: "tool_call", toolCallId, title: `${server?.name}/step`, status: "pending" });
};
const callsIn = (events: readonly TurnEventBody[]) =>
  events.flatMap((event) => (event.type === "tool_call" ? [event.callId] : []));

test.each([
  [true, ["one", "two"]],
  [false, ["one"]],
])("of two calls that come at once a client that takes several at once (%s) gets %j", async (parallel, expected) => {
  const child = new PlayedAgent("session/prompt");
  const events = askingAll(child)({ native: { ...native, parallel } });
  const relay = await relayOf(child);
  call(relay, "one");
  call(relay, "two");
  expect(callsIn(await child.whileTimePasses(events))).toEqual(expected);
});

test("a call that was announced is waited for, until the agent was seen to make its calls one by one", async () => {
  const child = new PlayedAgent("session/prompt");
  const ask = askingAll(child);
  const waited = async (turn: Promise<readonly TurnEventBody[]>) => {
    const sinceMs = child.clock.monotonic();
    const over = new AbortController();
    void turn.then(() => over.abort());
    while (!over.signal.aborted) {
      await child.clock.advance(1);
      await new Promise((resolve) => setImmediate(resolve)); // the call comes over a socket
    }
    return child.clock.monotonic() - sinceMs;
  };
  const first = ask({ native });
  const relay = await relayOf(child);
  announce(child, "a", "b");
  call(relay, "one");
  expect(await waited(first)).toBeGreaterThanOrEqual(250);
  const results = [{ callId: "one", content: [{ type: "text" as const, text: "ok" }], isError: false }];
  let told = "";
  relay.on("data", (text) => (told += String(text)));
  const second = ask({ ...continued, native: { ...native, results } });
  await until(() => told.includes('"answer"'));
  announce(child, "c", "d");
  call(relay, "two");
  expect(await waited(second)).toBeLessThan(250);
  expect(callsIn(await second)).toEqual(["two"]);
});

test("a second process that ends under the turn ends it by name: there is no third one", async () => {
  const child = new PlayedAgent("session/prompt");
  child.next = new PlayedAgent("session/prompt");
  child.next.clock = child.clock;
  const { events } = await prompted(
    { instead: promptFor("default") },
    {
      child,
      folder: mkdtempSync(join(tmpdir(), "millrace-turn-")),
    },
  );
  const second = child.next;
  second.mute.add("session/load");
  await child.end();
  const ended = child.whileTimePasses(events);
  await until(() => second.count("session/load") > 0);
  const { id } = second.asked.findLast(({ method }) => method === "session/load") ?? {};
  second.say({ id, result: session }); // an empty session: the prompt never arrived
  await until(() => second.count("session/prompt") > 0);
  await second.end();
  expect((await ended).at(-1)).toMatchObject(failed("ended again"));
  expect(child.count("session/prompt") + second.count("session/prompt")).toBe(2);
});

test("a conversation that is deleted gives its process back, and leaves no note of the session that took its place", async () => {
  const child = new PlayedAgent();
  const folder = mkdtempSync(join(tmpdir(), "millrace-turn-"));
  const { backend } = open(child, folder);
  const moved = new MovedSessions(child.clock, join(folder, "slow"));
  await moved.moved("old", "s");
  await backend.archive("acp:slow:old" as CascadeId, new AbortController().signal);
  expect(await moved.last("old")).toMatchObject({ id: "old" });
  expect(child.hasEnded).toBe(false);
  expect(await child.endsUnused()).toBe(true);
});

test("a turn that goes on in an open session gives its process back", async () => {
  const { child, events, backend } = await prompted();
  child.text("Hello");
  reply(child);
  await child.whileTimePasses(events);
  const next = collected(
    backend.run({ ...promptFor("default"), ...continued }, { ...options, keep: false }, new AbortController().signal),
  );
  await until(() => child.count("session/prompt") === 2);
  child.text("Hello again");
  reply(child);
  await child.whileTimePasses(next);
  expect(await child.endsUnused()).toBe(true);
});

test("a turn that finds another state of its session gives the process back that has it", async () => {
  const { child, events, backend } = await prompted();
  child.text("Hello");
  reply(child);
  await child.whileTimePasses(events);
  const from = { cascadeId: continued.continues, fromStep: 5, text: "", thinking: "" };
  const resumed = collected(backend.resume(promptFor("default"), from, options, new AbortController().signal));
  expect(await child.whileTimePasses(resumed)).toMatchObject([failed("Another program changed the session")]);
  expect(await child.endsUnused()).toBe(true);
});
