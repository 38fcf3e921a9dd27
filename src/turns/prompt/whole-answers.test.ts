import { expect, test } from "vitest";
import type { Message } from "../../log/request.ts";
import { wholeAnswers } from "./whole-answers.ts";

const turn = "01m8f5737758pdxfj9hndgqtkh";
const calls = (text: string, ...ids: string[]): Message => ({
  role: "assistant",
  parts: text === "" ? [] : [{ type: "text", text }],
  toolCalls: ids.map((callId) => ({ callId, name: "bash", arguments: "{}", kind: "function" })),
});
const result = (callId: string): Message => ({ role: "tool", callId, parts: [], isError: false });
const question: Message = { role: "user", parts: [{ type: "text", text: "Look." }] };

test.each([
  ["of a turn", [`call_${turn}_1`, `call_${turn}_2`, `call_${turn}_3`]],
  ["of an agent", ["call_0123456789abcdef00000000", "call_0123456789abcdef00000001", "call_0123456789abcdef00000002"]],
])("calls %s that come back one by one, or in another order, are one answer", (_, [a = "", b = "", c = ""]) => {
  const split = [question, calls("Two.", a), result(a), calls("", b), result(b), calls("Two.", c), result(c)];
  const whole = [question, calls("Two.", a, b, c), result(a), result(b), result(c)];
  expect(wholeAnswers(split)).toEqual(whole);
  expect(wholeAnswers(whole)).toEqual(whole);
  const inAnotherOrder = [question, calls("Two.", c, a, b), ...whole.slice(2)];
  expect(wholeAnswers(inAnotherOrder)).toEqual(whole);
});

test.each([
  ["of two turns", [calls("", `call_${turn}_1`), calls("", `call_${turn.replace("0", "1")}_2`)]],
  ["of another vendor", [calls("", "toolu_2", "toolu_1"), calls("", "toolu_3")]],
  ["with words between them", [calls("", `call_${turn}_1`), calls("Now the other.", `call_${turn}_2`)]],
])("calls %s stay answers of their own", (_, answers) => {
  const messages = answers.flatMap((answer) => [answer, result("call_x")]);
  expect(wholeAnswers(messages)).toEqual(messages);
});
