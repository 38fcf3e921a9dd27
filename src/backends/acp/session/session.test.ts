import { expect, test } from "vitest";
import { address, call, hello, PlayedProcess, relayed, tool } from "./session.fake.ts";
import { Session } from "./session.ts";
import { given } from "./states.ts";

const done = { callId: "one", content: [], isError: false };
const request = { id: 1, from: 0 };

/** A session whose turn has prompted the agent, which has called a tool. */
function prompted(...callIds: readonly string[]) {
  const process = new PlayedProcess();
  const relay = relayed();
  relay.tools.offer([tool]);
  const session = process.open("s", relay.tools);
  session.take();
  session.send([]);
  relay.say(hello(...callIds));
  return { process, session, ...relay };
}

/** A session that an earlier gateway left, with a prompt that works. */
function left(...callIds: readonly string[]) {
  const process = new PlayedProcess();
  const relay = relayed([tool]);
  const tools = { ...address, offered: [tool], given: callIds };
  const session = Session.adopt(
    process,
    { id: "s", userMessages: 1, prompt: request, tools },
    { tools: relay.tools, lost: undefined },
  );
  return { process, session, ...relay };
}

const lost = ({ state }: Session) => state.calls.flatMap(({ at, callId }) => (at === "lost" ? [callId] : []));

test("tools that an earlier gateway left count as used, because it alone saw the calls that were answered", () => {
  expect([relayed().tools.isUsed, relayed([]).tools.isUsed]).toEqual([false, true]);
});

test("calls are noted for a later gateway once the end of their turn is stored, and until the next such end", () => {
  const { session, process } = prompted("one", "two");
  process.host.read = 7;
  session.give(session.fresh.slice(0, 1));
  const noted = () => session.note.tools?.given;
  expect([given(session.state), session.fresh.map(({ callId }) => callId), noted()]).toEqual([["one"], ["two"], []]);
  session.release();
  expect([session.state.place, session.note.prompt?.from, noted()]).toEqual(["parked", 7, ["one"]]);
  session.take(["one"]);
  session.answer([done]);
  expect([given(session.state), lost(session), noted()]).toEqual([[], [], ["one"]]);
  process.host.read = 9;
  session.give(session.fresh);
  session.release();
  expect([session.note.prompt?.from, noted()]).toEqual([9, ["two"]]);
});

test("a later gateway has the calls of the one before once the relay names them, and counts those as lost that it does not name", () => {
  const { session, say } = left("one", "two");
  expect([given(session.state), lost(session)]).toEqual([[], ["one", "two"]]);
  say(hello("one", "three"));
  expect([given(session.state), lost(session), session.fresh.map(({ callId }) => callId)]).toEqual([
    ["one"],
    ["two"],
    ["three"],
  ]);
});

test("a result that comes before the relay is back is told once it names the call, and not for one that it gave up", () => {
  const { session, say, told } = left("one");
  session.step({ type: "resumed" });
  session.answer([done]);
  say(hello("one"));
  expect(told.at(-1)).toEqual({ type: "answer", ...done });
  say({ type: "call", call: call("two") });
  session.give(session.fresh);
  say({ type: "dropped", callId: "two" });
  expect([given(session.state), lost(session)]).toEqual([[], ["two"]]);
  const before = told.length;
  session.answer([{ ...done, callId: "two" }]);
  expect([told.length, lost(session)]).toEqual([before, []]);
});

test("a turn that is cleaned up late leaves the session to the next turn, which has it already", async () => {
  const { session } = prompted("one");
  session.give(session.fresh);
  session.release();
  const asked = { hasTools: true, results: ["one"] };
  expect([session.goOn(asked), session.goOn(asked)]).toEqual(["results", "busy"]);
  await expect(session.end({ type: "expired" })).rejects.toThrow("running");
  expect(session.state.place).toBe("running");
});

test("an end that came while the turn was left to the next gateway is that one's to read again", () => {
  const { session, process } = prompted("one");
  process.host.read = 7;
  session.give(session.fresh);
  session.step({ type: "detached" });
  expect([session.state.place, session.note.prompt?.from, session.note.tools?.given]).toEqual(["left", 0, []]);
});

test("results for calls that count as new here are those of a turn whose end was stored, and its text is not read again", () => {
  const { session, say, process } = left();
  say(hello("one"));
  process.host.read = 4;
  expect([session.take(["one"]), given(session.state), session.note.prompt?.from]).toEqual([true, ["one"], 4]);
});

test("what still waits in a session that ends is answered with an error, and the agent is stopped first", async () => {
  const { session, process, told } = prompted("one");
  session.give(session.fresh);
  session.release();
  const ended = session.end({ type: "superseded", callIds: ["one"] });
  session.prompt?.finish({ type: "answered", stopReason: "cancelled", tokens: undefined });
  await ended;
  expect(process.asked).toEqual(["session/prompt", "session/cancel", "session/delete"]);
  expect(told.at(-1)).toMatchObject({ type: "answer", callId: "one", isError: true });
  expect([session.state.place, process.sessions.size]).toEqual(["gone", 0]);
});
