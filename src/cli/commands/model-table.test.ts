import { expect, it } from "vitest";
import { encodeModel } from "../../gateway/dashboard/inventory.ts";
import { fakeModels, fakeStatus } from "../../models/account.fake.ts";
import { modelsOf } from "../../models/account-models.ts";
import { createCatalogue } from "../../models/catalogue.ts";
import { fakeModelOf } from "../../models/models.fake.ts";
import { resolveModel } from "../../models/resolve.ts";
import { printTable } from "../terminal/table.ts";
import { familiesOf, familyColumns, familyRow, modelRow } from "./models.ts";

const account = modelsOf(fakeStatus(fakeModels, "claude-opus-4-7-high"), createCatalogue());
const listed = (model: Parameters<typeof encodeModel>[0]) => encodeModel(model, undefined);
const models = account.map(listed);

const named = (title: string, row: readonly string[]) =>
  row[familyColumns.findIndex((column) => column.title === title)];

function means(name: string) {
  try {
    return resolveModel(account, name, undefined).model.name;
  } catch {
    return undefined; // refused, as a request for it would be
  }
}

it("puts the variants of a family behind one name", () => {
  const rows = familiesOf(models).map((family) => {
    const row = familyRow(family);
    return [row[0], named("VARIANTS", row)];
  });
  expect(rows).toContainEqual(["claude-opus-4.7", ":low :medium :high :medium-fast"]);
  expect(rows).toContainEqual(["gpt-5.2", ":none :low :high :priority"]);
  expect(rows).toContainEqual(["gpt-5.5", ":high :low"]);
  expect(rows).toContainEqual(["claude-sonnet-4.5", ":thinking :1m"]);
  expect(rows).toContainEqual(["kimi-k2.6", ""]);
});

it("writes names that resolve to the very model: the name of a row, or that with a variant behind it", () => {
  for (const { name, members } of familiesOf(models)) {
    for (const member of members.filter(({ disabled_reason: reason }) => reason === null)) {
      const row = familyRow({ name, members: [member] });
      const variant = named("VARIANTS", row) ?? "";
      expect(means(/^[a-z]/.test(variant) ? variant : name + variant)).toBe(member.name);
    }
  }
});

it("names a family by what most of its members share, also when one name does not fit", () => {
  const names = ["claude-opus-5.5:low", "claude-opus-5.5:high", "claude-opus-5-5-high"];
  const rows = familiesOf(names.map((name) => listed(fakeModelOf(name)))).map((family) => {
    const row = familyRow(family);
    return [row[0], named("VARIANTS", row)];
  });
  expect(rows).toEqual([["claude-opus-5.5", ":low :high claude-opus-5-5-high"]]);
});

it("shows the 385 models of a large account as families, with their cost, on a terminal of 80 columns", () => {
  const efforts = ["low", "medium", "high", "xhigh", "max"];
  const uids = Array.from({ length: 11 }, (_, i) => `claude-opus-${i + 10}`).flatMap((family) =>
    ["", "-fast", "-1m", "-thinking", "-fast-thinking", "-1m-thinking", "-1m-fast"].flatMap((lane) =>
      efforts.map((effort) => `${family}-${effort}${lane}`),
    ),
  );
  expect(uids).toHaveLength(385);
  const large = modelsOf(fakeStatus(uids.map((modelUid) => ({ modelUid, label: modelUid }))), createCatalogue());
  const families = familiesOf(large.map(listed));
  const lines: string[] = [];
  const terminal = { line: (text = "") => lines.push(text), style: (_: unknown, text: string) => text };
  printTable(
    familyColumns,
    families.map((family) => familyRow(family)),
    { ...terminal, isTerminal: true, columns: 80 },
  );
  expect(lines).toHaveLength(12);
  expect(lines[0]).toMatch(/^NAME +COST +VARIANTS +CONTEXT +VENDOR/);
  expect(lines[1]).toMatch(/^claude-opus-10 +- +35 variants /);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});

it("loses no model", () => {
  const shown = familiesOf(models).flatMap(({ members }) => members.map(({ uid }) => uid));
  expect(shown.toSorted()).toEqual(models.map(({ uid }) => uid).toSorted());
});

it("shows ranges where the variants differ, and a dash where nothing is known", () => {
  const low = fakeModelOf("m:low", {
    creditMultiplier: 0,
    costTier: "free",
    contextTokens: 200_000,
    isNew: true,
    backend: "cascade",
  });
  const high = fakeModelOf("m:high", {
    creditMultiplier: 6,
    costTier: "high",
    contextTokens: 1_048_576,
    isDefault: true,
    backend: "acp",
  });
  const [family] = familiesOf([low, high].map(listed));
  expect(family && familyRow(family)).toEqual([
    "m",
    "free - 6x",
    "default, 1 new",
    ":low :high",
    "200k - 1.05M",
    "test-vendor",
    "images",
    "cascade, acp",
  ]);
  const bare = { creditMultiplier: undefined, costTier: undefined, contextTokens: undefined, supportsImages: false };
  expect(modelRow(listed(fakeModelOf("n", { ...bare, isNew: true, disabledReason: "Upgrade" })))).toEqual([
    "n",
    "-",
    "new, not callable: Upgrade",
    "-",
    "test-vendor",
    "",
    "",
  ]);
});
