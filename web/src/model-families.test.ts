import { expect, it } from "vitest";
import { familiesOf, type Model, rangeOf, sortedBy } from "./model-families.ts";

function model(name: string, part: Partial<Model> = {}): Model {
  return {
    uid: `uid-${name}`,
    name,
    label: name,
    vendor: "anthropic",
    family: null,
    variant: null,
    context_tokens: null,
    max_output_tokens: null,
    images: false,
    credit_multiplier: null,
    cost_tier: null,
    backend: null,
    is_default: false,
    is_new: false,
    disabled_reason: null,
    last_used_at: null,
    ...part,
  };
}

it("puts variants together where the first of them stood, and keeps the order", () => {
  const models = [
    model("c", { vendor: "openai" }),
    model("b:high"),
    model("a"),
    model("b:low"),
    model("z", { disabled_reason: "Not in your plan." }),
  ];
  const shown = (search: string) =>
    familiesOf(models, search).map(({ models: group }) => group.map(({ name }) => name));
  expect(shown("")).toEqual([["c"], ["b:high", "b:low"], ["a"], ["z"]]);
  expect(shown(" OpenAI ")).toEqual([["c"]]);
});

it("names a family by what its models have in common, whichever was used last", () => {
  const names = (...models: readonly Model[]) => familiesOf(models, "").map(({ name }) => name);
  expect(names(model("b:low"), model("b:high", { last_used_at: "2026-02-24T10:00:00Z" }))).toEqual(["b"]);
  expect(names(model("b-fast", { family: "b" }), model("b", { family: "b" }))).toEqual(["b"]);
});

it("says from where to where a figure of models goes, and nothing where none is known", () => {
  const cost = (...all: readonly (number | null)[]) =>
    rangeOf(
      all.map((credit_multiplier) => model("a", { credit_multiplier })),
      (one) => one.credit_multiplier,
      (value) => `${value}×`,
    );
  expect([cost(4, null, 1), cost(2, 2), cost(null), cost()]).toEqual(["1× – 4×", "2×", undefined, undefined]);
});

it("sorts families by a figure; those without one stay last in both orders", () => {
  const families = familiesOf(
    [model("a"), model("b", { context_tokens: 200 }), model("c", { context_tokens: 100 }), model("d")],
    "",
  );
  const names = (descending: boolean) =>
    sortedBy(families, ([first]) => first?.context_tokens ?? undefined, descending).map(({ name }) => name);
  expect(names(false)).toEqual(["c", "b", "a", "d"]);
  expect(names(true)).toEqual(["b", "c", "a", "d"]);
});
