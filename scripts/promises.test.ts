import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mended, type Proof, promises } from "../test/promises.ts";

const root = join(import.meta.dirname, "..");

test.each([
  [
    "every promise, property and hazard of the stream engine",
    promises,
    [...ids("G", 17), ...ids("P", 12), ...ids("H", 12)],
  ],
  ["everything that once went wrong after a failure", mended, ids("D", 13)],
])("%s has tests that exist", async (_, proofs: readonly Proof[], wanted) => {
  const missing: string[] = [];
  for (const { id, tests } of proofs) {
    for (const [file, title] of tests) {
      const source = await readFile(join(root, file), "utf8").catch(() => "");
      if (!source.includes(`"${title}"`)) missing.push(`${id}: ${file} ${title}`);
    }
  }
  expect(missing).toEqual([]);
  const held = new Set(proofs.flatMap(({ id }) => expand(id)));
  expect(wanted.filter((id) => !held.has(id))).toEqual([]);
});

/** `H1 – H4, H6` as `H1`, `H2`, `H3`, `H4`, `H6`. */
function expand(promise: string): readonly string[] {
  return promise.split(", ").flatMap((part) => {
    const [first = "", last = first] = part.split(" – ");
    const [from, to] = [Number(first.slice(1)), Number(last.slice(1))];
    return Array.from({ length: to - from + 1 }, (_, i) => `${first.slice(0, 1)}${from + i}`);
  });
}

function ids(letter: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${letter}${i + 1}`);
}
