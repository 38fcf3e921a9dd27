import { expect, test } from "vitest";
import { assistant, toolResult, user } from "../prompt/request.fake.ts";
import { markOf, writeCall } from "./grammar.ts";
import { good, told } from "./planned-answer.fake.ts";
import { ScriptedBackend } from "./scripted-backend.fake.ts";

const foreign = [
  ["JSON in a fence", '```json\n{"name":"bash","arguments":{"command":"ls"}}\n```'],
  ["a tag without the mark", '<tool_call>{"name":"bash","arguments":{"command":"ls"}}</tool_call>'],
  ["the mark of another turn", writeCall(markOf({ messages: [] }, "another"), "bash", '{"command":"ls"}')],
  ["a tag named as the tool", "<bash><command>ls</command></bash>"],
] as const;

const seed = "01m8dvj8vk1d0ks7vvyj7hdzcm"; // of a turn's length
const after = (callId: string) => [
  user("Look around."),
  assistant("", [{ id: callId, name: "bash", arguments: { command: "pwd" } }]),
  toolResult(callId, "/home"),
];

test.each(foreign)("a model that called as taught calls in no other form: %s", async (_, text) => {
  const first = await told(new ScriptedBackend(text), { messages: [user("Look around.")] });
  expect(first.calls).toMatchObject([{ name: "bash", arguments: '{"command":"ls"}' }]);
  const later = await told(new ScriptedBackend(text), { messages: after(`call_${seed}_1`) });
  expect([later.calls, later.last.type]).toEqual([[], "finished"]);
  expect(later.text).toBe(text);
});

test.each([
  ["of a call in another form", `call_${seed}_1x`],
  ["of another gateway", "call_Ab3"],
])("an id %s is no sign that the model was taught", async (_, callId) => {
  const { calls } = await told(new ScriptedBackend(foreign[0][1]), { messages: after(callId) });
  expect(calls).toHaveLength(1);
});

test("the taught form stays a call", async () => {
  const { calls } = await told(new ScriptedBackend(good), { messages: after(`call_${seed}_1`) });
  expect(calls).toMatchObject([{ name: "bash" }]);
});
