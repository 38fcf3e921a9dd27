import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

test("no statement numbers its parameters: Node 22.13 to 22.18 bind `?1` once, however often it stands there", () => {
  const files = globSync("src/**/*.ts", { cwd: root }).filter((file) => !file.endsWith(".test.ts"));
  const numbered = files.filter((file) => /[\s(=]\?[1-9]/.test(readFileSync(join(root, file), "utf8")));
  expect(numbered).toEqual([]);
});
