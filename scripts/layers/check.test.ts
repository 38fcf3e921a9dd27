import { join } from "node:path";
import { expect, test } from "vitest";
import { checkLayers } from "./check.ts";
import { checkBudgets, linesOf } from "./size.ts";

const configuration = join(import.meta.dirname, "../../.dependency-cruiser.cjs");

test("each rule reports the file of the broken tree that breaks it", async () => {
  const found = await checkLayers(join(import.meta.dirname, "broken"), configuration);
  const expected = [
    "knows-log: src/log/knows-up.ts -> src/backends/b.ts",
    "order-src/log/redis: src/log/redis/knows-sqlite.ts -> src/log/sqlite/file.ts",
    "order-src/log/sqlite: src/log/sqlite/file.ts -> src/log/knows-up.ts",
    "order-src/log/rows.ts: src/log/rows.ts -> src/log/sqlite/file.ts",
    "knows-simulator: simulator/knows-turns.ts -> src/turns/t.ts",
    "simulator-by-its-entries: src/cli/deep.ts -> simulator/deep.ts",
    "only-the-command-line-simulates: src/turns/simulates.ts -> simulator/index.ts",
    "dialects-are-pure: src/gateway/dialects/impure.ts -> src/turns/t.ts",
    "runs-anywhere: src/base/core.ts -> fs",
    "neutral-files-know-no-node: src/base/knows-node.ts -> src/base/node/file.ts",
    "plugin-loads-no-sqlite: src/opencode/plugin.ts -> node:sqlite",
    "one-owner-per-library: src/opencode/lazy.ts -> node:sqlite",
    "few-may-dial: src/turns/dials.ts -> net",
    "no-cycles: src/turns/x.ts -> src/turns/y.ts",
    "resolves: src/turns/unresolved.ts -> ./nowhere.ts",
    "nothing-knows-tests: src/turns/uses-fake.ts -> src/turns/thing.fake.ts",
    "ships-no-dev-dependency: src/turns/dev.ts -> fast-check",
  ];
  const violations = found.violations.map((violation) =>
    violation.replace(/-> \S*\/node_modules\/(fast-check)\/\S*$/, "-> $1"),
  );
  for (const violation of expected) expect(violations).toContainEqual(violation);
  expect(found.foldersWithoutRow).toEqual(["src/mystery", "src/log/strange"]);
  expect(found.rowsWithoutPart).toContain("src/log/sealing");
  expect(found.rowsWithoutPart).not.toContain("src/log/redis");
  expect(found.unseen).toEqual([]);
});

test("a floor with more lines than its budget, without one, or gone is reported", () => {
  const root = join(import.meta.dirname, "broken");
  const budgets = { "src/log": { lines: 1, target: 1 }, "src/gone": { lines: 1, target: 1 } };
  const problems = checkBudgets(root, budgets);
  expect(problems).toContainEqual(expect.stringMatching(/^src\/log has \d+ lines of code, and may have 1/));
  expect(problems).toContain("src/gone has a budget of lines, but is gone");
  expect(problems).toContain("src/turns has no budget of lines in scripts/layers/budgets.json");
});

test("blank lines and comments are no lines of code", () => {
  expect(linesOf("/** a\n * b\n */\nconst x = 1; // c\n\n// d\n/* e */\nx;")).toBe(2);
});
