import { expect, test } from "vitest";
import type { RelayDoor } from "../relay/relay-hub.ts";
import type { FromRelay, ToRelay } from "../relay/relay-wire.ts";
import { SessionTools } from "./session-tools.ts";

const address = { socket: "door", secret: "secret" };
const call = (callId: string) => ({ callId, name: "step", arguments: {} });
const tool = { name: "step", description: "A step.", inputSchema: { type: "object" } };
const done = { callId: "one", content: [], isError: false };

/** A door whose relay is this test. */
function relayed(): { readonly door: RelayDoor; readonly told: ToRelay[]; readonly say: (message: FromRelay) => void } {
  const told: ToRelay[] = [];
  const door = { address, isConnected: false, isClosed: false, tell: (message: ToRelay) => void told.push(message) };
  const say = (message: FromRelay) => {
    door.isConnected = true;
    (door as unknown as RelayDoor).onMessage(message);
  };
  return { door: door as unknown as RelayDoor, told, say }; // nothing else of it is used
}

const hello = (...callIds: readonly string[]): FromRelay => ({
  type: "hello",
  secret: "secret",
  listed: true,
  calls: callIds.map(call),
});

test("tools that an earlier gateway left count as used, because it alone saw the calls that were answered", () => {
  const kept = new SessionTools(relayed().door, { ...address, offered: [], given: [] });
  expect([new SessionTools(relayed().door).isUsed, kept.isUsed]).toEqual([false, true]);
});

test("calls are noted for a later gateway once the end of their turn is stored, and until the next such end", () => {
  const { door, say } = relayed();
  const tools = new SessionTools(door);
  tools.offer([tool]);
  say(hello("one", "two"));
  tools.give(tools.fresh.slice(0, 1), 7);
  expect([tools.given, tools.fresh.map(({ callId }) => callId), tools.kept.given]).toEqual([["one"], ["two"], []]);
  expect([tools.settle(), tools.settle(), tools.kept.given]).toEqual([7, undefined, ["one"]]);
  tools.answer([done]);
  expect([tools.given, tools.lost, tools.kept.given]).toEqual([[], 0, ["one"]]);
  tools.give(tools.fresh, 9);
  expect([tools.settle(), tools.kept.given]).toEqual([9, ["two"]]);
});

test("a later gateway has the calls of the one before once the relay names them, and counts those as lost that it does not name", () => {
  const { door, say } = relayed();
  const tools = new SessionTools(door, { ...address, offered: [tool], given: ["one", "two"] });
  expect([tools.given, tools.lost]).toEqual([[], 2]);
  say(hello("one", "three"));
  expect([tools.given, tools.lost, tools.fresh.map(({ callId }) => callId)]).toEqual([["one"], 1, ["three"]]);
});

test("a result that comes before the relay is back is told once it names the call, and not for one that it gave up", () => {
  const { door, told, say } = relayed();
  const tools = new SessionTools(door, { ...address, offered: [tool], given: ["one"] });
  tools.answer([done]);
  say(hello("one"));
  expect(told.at(-1)).toEqual({ type: "answer", ...done });
  say({ type: "call", call: call("two") });
  tools.give(tools.fresh, 1);
  say({ type: "dropped", callId: "two" });
  expect([tools.given, tools.lost]).toEqual([[], 1]);
  const before = told.length;
  tools.answer([{ ...done, callId: "two" }]);
  expect([told.length, tools.lost]).toEqual([before, 0]);
});
