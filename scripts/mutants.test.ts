import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mutants } from "../test/mutants/mutants.ts";

const root = join(import.meta.dirname, "..");

test("each mutant of test:mutants breaks a place that is there once", async () => {
  const stale: string[] = [];
  for (const { name, file, from, to } of mutants) {
    const source = await readFile(join(root, file), "utf8");
    if (source.split(from).length !== 2 || from === to) stale.push(name);
  }
  expect(stale).toEqual([]);
});
