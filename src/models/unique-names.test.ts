import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { configuredAgentModels } from "./agent-models.ts";
import { createCatalogue } from "./catalogue.ts";
import { uniqueNames } from "./unique-names.ts";

const catalogue = createCatalogue();
const named = (labels: Readonly<Record<string, string>>) =>
  Object.fromEntries(uniqueNames(new Map(Object.entries(labels)), catalogue));

describe("two models that want one name", () => {
  it("are told apart by their thinking, and the older slot keeps the name, in each order of the list", () => {
    const labels = { MODEL_PRIVATE_13: "GPT-9.1 Low", MODEL_PRIVATE_30: "GPT-9.1 Low Thinking" };
    const names = { MODEL_PRIVATE_13: "gpt-9.1:low", MODEL_PRIVATE_30: "gpt-9.1:low-thinking" };
    expect(named(labels)).toEqual(names);
    expect(named(Object.fromEntries(Object.entries(labels).toReversed()))).toEqual(names);
  });

  it("are a slot that was there, and one that the vendor added: the added one is called by its UID", () => {
    const before = { MODEL_PRIVATE_13: "GPT-9.1 Low Thinking" };
    expect(named(before)).toEqual({ MODEL_PRIVATE_13: "gpt-9.1:low" });
    expect(named({ "gpt-9-1-low": "GPT-9.1 Low", MODEL_PRIVATE_140: "GPT-9.1 Low", ...before })).toEqual({
      MODEL_PRIVATE_13: "gpt-9.1:low",
      MODEL_PRIVATE_140: "MODEL_PRIVATE_140",
      "gpt-9-1-low": "gpt-9-1-low",
    });
  });

  it("are spelled in two ways by their UIDs: the one that the name follows has it", () => {
    expect(named({ "claude-4-9-opus-high": "x", "claude-opus-4-9-high": "y" })).toEqual({
      "claude-opus-4-9-high": "claude-opus-4.9:high",
      "claude-4-9-opus-high": "claude-4-9-opus-high",
    });
  });

  it("are a model and an effort of another one, at an agent", () => {
    const models = ["m:high", "m", "m@high"].map((id) => ({ id, label: id, isCurrent: false }));
    expect(configuredAgentModels("a", models, catalogue).map(({ name }) => name)).toEqual([
      "a/m:high",
      "a/m",
      "a/m@high",
    ]);
    expect(configuredAgentModels("a", models.slice(1), catalogue).map(({ name }) => name)).toEqual(["a/m", "a/m:high"]);
  });
});

describe("the names of any list", () => {
  const label = fc
    .tuple(
      fc.constantFrom("GPT-5.1", "GPT-9", "Claude Opus 4.9", "Claude 4.9 Opus", "SWE 3"),
      fc.constantFrom("", "No Thinking", "Low", "High", "Low Thinking", "High Thinking", "Thinking"),
      fc.constantFrom("", "Fast"),
    )
    .map((parts) => parts.filter((part) => part !== "").join(" "));
  const uidOfLabel = (text: string) => text.toLowerCase().replaceAll(/[ .]/g, "-");
  const slots = (from: number, to: number) =>
    fc.dictionary(
      fc.integer({ min: from, max: to }).map((n) => `MODEL_PRIVATE_${n}`),
      label,
      { noNullPrototype: true, maxKeys: 12 },
    );
  const words = fc
    .uniqueArray(label, { maxLength: 12 })
    .map((all) => Object.fromEntries(all.map((text) => [uidOfLabel(text), text])));

  it("are different, and do not depend on its order", () => {
    fc.assert(
      fc.property(slots(1, 40), words, fc.infiniteStream(fc.nat()), (some, others, random) => {
        const all = { ...some, ...others };
        const names = named(all);
        expect(new Set(Object.values(names).map((name) => name.toLowerCase())).size).toBe(Object.keys(all).length);
        const shuffled = Object.entries(all)
          .map((entry) => ({ entry, at: random.next().value }))
          .toSorted((a, b) => Number(a.at) - Number(b.at));
        expect(named(Object.fromEntries(shuffled.map(({ entry }) => entry)))).toEqual(names);
      }),
    );
  });

  it("stay when the list grows by slots and UIDs, but for a name that is the UID of a new model", () => {
    fc.assert(
      fc.property(slots(1, 20), slots(21, 40), words, (before, newer, others) => {
        const names = Object.entries(named(before));
        const grown = named({ ...others, ...newer, ...before });
        const renamed = names.filter(([uid, name]) => grown[uid] !== name && !(name in others));
        expect(renamed).toEqual([]);
      }),
    );
  });
});
