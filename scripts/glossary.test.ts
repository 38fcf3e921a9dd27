import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/dev/glossary.md"), "utf8");
const rows = [...page.matchAll(/^- \*\*([^*]+)\*\* \((`[^)]+`|`\w+` in `[^)]+`)\): ./gm)].map(
  ([, term = "", cell = ""]) => ({ term, cell }),
);

describe("the glossary", () => {
  it("has at most 40 terms, each once, in order", () => {
    const terms = rows.map(({ term }) => term.toLowerCase());
    expect(terms.length).toBeGreaterThan(0);
    expect(terms.length).toBeLessThanOrEqual(40);
    expect(terms).toEqual([...new Set(terms)].toSorted((a, b) => a.localeCompare(b, "en")));
  });

  it.each(rows.map(({ term, cell }) => [term, cell] as const))("names what exists for %s", (_, cell) => {
    expect(problemOf(cell)).toBeUndefined();
  });

  it("has at most ten types for a turn, which all exist", () => {
    const types = [...page.matchAll(/^- (`\w+` in `[^`]+`): /gm)].map(([, cell = ""]) => cell);
    expect(types.length).toBeGreaterThan(0);
    expect(types.length).toBeLessThanOrEqual(10);
    expect(types.flatMap((cell) => problemOf(cell) ?? [])).toEqual([]);
  });

  it.each([
    ["`Nothing` in `src/log/`", "src/log/ exports no type Nothing"],
    ["`src/none.ts`", "there is no src/none.ts"],
    ["words", "names neither a type nor a file"],
  ])("would fail for %s", (cell, problem) => {
    expect(problemOf(cell)).toBe(problem);
  });
});

/** `` `Type` in `folder/` `` or `` `file` ``. */
function problemOf(cell: string): string | undefined {
  const [, type, folder = ""] = /^`(\w+)` in `([^`]+)`$/.exec(cell) ?? [];
  if (type !== undefined) return exportsType(folder, type) ? undefined : `${folder} exports no type ${type}`;
  const [, file] = /^`([^`]+)`$/.exec(cell) ?? [];
  if (file === undefined) return "names neither a type nor a file";
  return existsSync(join(root, file)) ? undefined : `there is no ${file}`;
}

function exportsType(folder: string, type: string): boolean {
  const declared = new RegExp(`^export (?:abstract )?(?:interface|class|type) ${type}\\b`, "m");
  return globSync(`${folder}**/*.ts`, { cwd: root }).some((file) =>
    declared.test(readFileSync(join(root, file), "utf8")),
  );
}
