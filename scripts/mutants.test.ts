import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { applied } from "../test/mutants/apply.ts";
import { mutants } from "../test/mutants/mutants.ts";

const root = join(import.meta.dirname, "..");

test.each(mutants)("the mutant `$name` changes code that stands once in its function", async (mutant) => {
  const source = await readFile(join(root, mutant.file), "utf8");
  expect(applied(source, mutant, mutant.becomes)).not.toBe(source);
});

describe("a place in the code", () => {
  const source = `class Store {
    admit(row, epoch) {
      // an older attach is refused
      if (row.epoch !== epoch) return "fenced";
      return call(row, epoch);
    }
    #mark(row, epoch) {
      if (row.epoch !== epoch) return "fenced";
    }
  }`;
  const place = { in: "Store.admit", code: "row.epoch !== epoch" };

  test("is found in its function alone", () => {
    expect(applied(source, place, "false")).toBe(source.replace("row.epoch !== epoch", "false"));
    expect(applied(source, { ...place, in: "Store.#mark" }, "false")).toContain("if (false) return");
  });

  test("is found after a formatter and a refactoring beside it", () => {
    const moved = source
      .replace("row.epoch !== epoch", "row.epoch /* of the row */\n        !==\n          epoch")
      .replace("call(row, epoch)", "call(\n        row,\n        epoch,\n      )")
      .replace("class Store {", "class Store {\n  other() { return 1; }");
    expect(applied(moved, place, "false")).toContain("if (false) return");
    expect(applied(moved, { in: "Store.admit", code: "call(row, epoch)" }, "again($&)")).toContain("again(call(");
  });

  test.each([
    ["is not in the function", { in: "Store.admit", code: "row.epoch === epoch" }],
    ["stands in a function that is gone", { in: "Store.gone", code: "row.epoch !== epoch" }],
    ["stands there more than once", { in: "Store", code: "row.epoch !== epoch" }],
    ["is only named in a comment", { in: "Store.admit", code: "older" }],
  ])("is refused where its code %s", (_, wrong) => {
    expect(() => applied(source, wrong, "false")).toThrow(/stands \d times in/);
  });
});
