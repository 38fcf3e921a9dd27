import { expect, it } from "vitest";
import { axisEnd, changeOf, figures, firstMeasure, stacksOf } from "./stacks.ts";
import type { Bar } from "./use-in-bars.ts";

type Spend = Bar["models"][number];

function spend(name: string, credits: number, part: Partial<Spend> = {}): Spend {
  return {
    key: name,
    name,
    turns: 1,
    finished: 1,
    failed: 0,
    cancelled: 0,
    prompt_tokens: 10,
    completion_tokens: 2,
    thinking_tokens: 1,
    cached_prompt_tokens: 0,
    estimated_turns: 0,
    estimated_tokens: 0,
    unknown_turns: 0,
    credits,
    credits_known_turns: 1,
    credits_estimated: 0,
    credits_estimated_turns: 0,
    duration_ms: 1,
    mean_first_token_ms: null,
    ...part,
  };
}

const usage = (...bars: readonly Bar[]) => bars;

it("stacks days by model, those that used most first, and the rest as one", () => {
  const names = ["a", "b", "c", "d", "e", "f", "g"];
  const found = stacksOf(
    usage(
      { day: "2026-02-23", models: names.map((name, place) => spend(name, 10 - place)) },
      { day: "2026-02-24", models: [] },
      { day: "2026-02-25", models: [spend("g", 100)] },
    ),
    "credits",
  );
  expect(found.series.map(({ name, values }) => [name, values])).toEqual([
    ["g", [4, 0, 100]],
    ["a", [10, 0, 0]],
    ["b", [9, 0, 0]],
    ["c", [8, 0, 0]],
    ["d", [7, 0, 0]],
    ["2 others", [11, 0, 0]],
  ]);
  expect([found.totals, found.total]).toEqual([[49, 0, 100], 149]);
});

it("counts turns where nobody knows credits, and says what is estimated or known in part only", () => {
  const unknown = usage({ day: "2026-02-24", models: [spend("a", 0, { credits_known_turns: 0 })] });
  const priced = { credits_known_turns: 0, credits_estimated: 4, credits_estimated_turns: 1 };
  const estimated = usage({ day: "2026-02-24", models: [spend("a", 0, priced)] });
  expect([firstMeasure(unknown), firstMeasure(estimated)]).toEqual(["turns", "credits"]);
  expect(stacksOf(unknown, "credits")).toMatchObject({ total: 0, mark: "" });
  expect(stacksOf(estimated, "credits")).toMatchObject({ total: 4, mark: "~" });
  const part = usage({ day: "2026-02-24", models: [spend("a", 0, { credits_known_turns: 0 }), spend("b", 2)] });
  expect(stacksOf(part, "credits")).toMatchObject({ total: 2, mark: "≥" });
  expect(stacksOf(estimated, "turns")).toMatchObject({ total: 1, mark: "" });
  expect(stacksOf(estimated, "tokens")).toMatchObject({ total: 13, mark: "" });
});

it("ends an axis at a round number", () => {
  expect([0, 0.3, 1, 39, 51, 100, 2_400_001].map(axisEnd)).toEqual([1, 0.5, 1, 50, 100, 100, 2_500_000]);
});

it("follows failures and first tokens, each turn with the same weight, and knows nothing of a part without any", () => {
  const days = [[spend("a", 1, { turns: 3, failed: 1, mean_first_token_ms: 100 }), spend("b", 1)], []];
  expect(days.map(figures.failed)).toEqual([0.25, null]);
  expect(days.map(figures.firstTokenMs)).toEqual([100, null]);
  expect(figures.firstTokenMs([...(days[0] ?? []), spend("a", 1, { mean_first_token_ms: 500 })])).toBe(200);
});

it("says how a figure moved, and nothing where there was none before", () => {
  expect([changeOf(120, 100), changeOf(50, 100), changeOf(5, 0), changeOf(null, 4), changeOf(4, null)]).toEqual([
    20,
    -50,
    undefined,
    undefined,
    undefined,
  ]);
});
