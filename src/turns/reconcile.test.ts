import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { TurnEventBody } from "../log/event.ts";
import { loggedAnswer, reconcile } from "./reconcile.ts";

const finished = (text: string): TurnEventBody => ({
  type: "finished",
  reason: { unified: "stop", raw: undefined },
  text,
});

function resumed(logged: readonly TurnEventBody[], again: readonly TurnEventBody[]): readonly TurnEventBody[] {
  const stage = reconcile(loggedAnswer(logged));
  return again.flatMap((body) => stage.push(body));
}

const deltas = (text: string, cuts: readonly number[], type: "text" | "thinking" = "text"): TurnEventBody[] => {
  const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i): TurnEventBody => ({ type, delta: text.slice(from, at[i] ?? text.length) }));
};

const cuts = fc.array(fc.nat(), { maxLength: 6 });

test("an answer that is read again from its start, cut anywhere, adds exactly what the log lacks (P8)", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.nat(), cuts, cuts, (text, thinking, held, first, second) => {
      const whole = [...deltas(thinking, first, "thinking"), ...deltas(text, first), finished(text)];
      const logged = whole.slice(0, held % whole.length);
      const again = [...deltas(thinking, second, "thinking"), ...deltas(text, second), finished(text)];
      const added = resumed(logged, again);
      const sum = loggedAnswer([...logged, ...added]);
      expect(sum.text).toBe(text);
      expect(sum.thinking).toBe(thinking);
      expect(added.some(({ type }) => type === "rewritten")).toBe(false);
      expect(added.at(-1)).toEqual(finished(text));
    }),
  );
});

test("text that the upstream changed meanwhile becomes a rewrite, and the sum is what it says now", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), cuts, (before, now, second) => {
      const logged: TurnEventBody[] = [{ type: "text", delta: before }];
      const added = resumed(logged, [...deltas(now, second), finished(now)]);
      expect(loggedAnswer([...logged, ...added]).text).toBe(now);
    }),
  );
});

test("tool calls keep the ids that the log gave them, and only those that it lacks are added", () => {
  const call = (callId: string, argumentsDelta: string, done = true): TurnEventBody => ({
    type: "tool_call",
    callId,
    name: "read",
    argumentsDelta,
    done,
  });
  const logged = [call("call-1", '{"a":1}'), call("call-2", '{"b', false)];
  const again = [call("x", '{"a":1}'), call("y", '{"b', false), call("z", "{}")];
  expect(resumed(logged, again)).toEqual([call("z", "{}")]);
});

test("usage that the log holds is not said twice; newer usage is", () => {
  const usage = (completionTokens: number): TurnEventBody => ({
    type: "usage",
    promptTokens: 1,
    completionTokens,
    thinkingTokens: 0,
    estimated: false,
  });
  expect(resumed([usage(1)], [usage(1), usage(2)])).toEqual([usage(2)]);
});
