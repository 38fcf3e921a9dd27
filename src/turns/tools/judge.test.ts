import { expect, it } from "vitest";
import type { Usage } from "../../log/event.ts";
import { type ArrivedAnswer, judge } from "./judge.ts";

const usage = (of: Partial<Usage>): Usage => ({
  promptTokens: 0,
  completionTokens: 0,
  thinkingTokens: 0,
  estimated: false,
  ...of,
});

/** An answer without problems that used so much. */
function arrived(used: Usage | undefined): ArrivedAnswer {
  const result = { problem: undefined, reask: "Again.", isExcused: false };
  const told = { calls: [], text: "" };
  const answer = { usage: used, result, told, nativeCalls: undefined } as unknown as ArrivedAnswer["answer"]; // what is looked at
  return { answer, end: { type: "finished", reason: { unified: "stop", raw: undefined }, text: "" } };
}

/** The usage of a turn whose two answers used so much. */
const used = (first: Usage | undefined, second: Usage | undefined) => {
  const verdict = judge(arrived(first), arrived(second), false);
  return verdict.type === "end" ? verdict.usage : verdict;
};

it("a turn that was asked twice used what both of its answers used", () => {
  const first = usage({
    promptTokens: 1,
    completionTokens: 2,
    thinkingTokens: 3,
    cachedPromptTokens: 4,
    creditsHundredths: 5,
  });
  const second = usage({ promptTokens: 10, completionTokens: 20, thinkingTokens: 30, estimated: true });
  const sum = {
    promptTokens: 11,
    completionTokens: 22,
    thinkingTokens: 33,
    cachedPromptTokens: 4,
    creditsHundredths: 5,
  };
  expect(used(first, second)).toEqual([{ type: "usage", ...sum, estimated: true }]);
  expect(used(second, first)).toEqual([{ type: "usage", ...sum, estimated: true }]);
  expect(used(second, second)).not.toHaveProperty("0.creditsHundredths");
  for (const alone of [used(first, undefined), used(undefined, first)])
    expect(alone).toEqual([{ type: "usage", ...first }]);
  expect(used(undefined, undefined)).toEqual([]);
});

it("an answer is asked for once more, where that may be", () => {
  expect(judge(arrived(undefined), undefined, true)).toEqual({ type: "ask_again", text: "Again." });
  expect(judge(arrived(undefined), undefined, false)).toMatchObject({ type: "end", end: { type: "finished" } });
  expect(judge(arrived(undefined), arrived(undefined), true)).toMatchObject({ type: "end" });
});
