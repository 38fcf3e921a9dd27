import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

interface Proof {
  readonly promise: string;
  readonly file: string;
  readonly name: string;
}

/** The rows between two marks of this name: `` | G1 | words | `file` name of a test<br>`file` another | ``. */
async function proofs(mark: string): Promise<readonly Proof[]> {
  const page = await readFile(join(root, "docs/reliability.md"), "utf8");
  const table = page.slice(page.indexOf(`<!-- ${mark} -->`), page.indexOf(`<!-- /${mark} -->`));
  return table
    .split("\n")
    .slice(3)
    .filter((line) => line.startsWith("|"))
    .flatMap((line) => {
      const [, promise = "", , cell = ""] = line.split("|").map((part) => part.trim());
      return cell.split("<br>").map((entry) => {
        const [, file = "", name = ""] = /^`([^`]+)` (.+)$/.exec(entry) ?? [];
        return { promise, file, name };
      });
    });
}

test.each([
  [
    "every promise, property and hazard of the stream engine",
    "proofs",
    [...ids("G", 17), ...ids("P", 12), ...ids("H", 12)],
  ],
  ["everything that once went wrong after a failure", "mended", ids("D", 13)],
])("%s has a test, and the page names tests that exist", async (_, mark, wanted) => {
  const listed = await proofs(mark);
  const missing: string[] = [];
  for (const { promise, file, name } of listed) {
    const source = await readFile(join(root, file), "utf8").catch(() => "");
    if (name === "" || !source.includes(`"${name}"`)) missing.push(`${promise}: ${file} ${name}`);
  }
  expect(missing).toEqual([]);
  const held = new Set(listed.flatMap(({ promise }) => expand(promise)));
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
