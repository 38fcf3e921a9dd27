import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

test("every function that docs/dev/tour.md names is in the file that it names", () => {
  const page = readFileSync(join(root, "docs/dev/tour.md"), "utf8");
  const named = [...page.matchAll(/`((?:src|simulator)\/[\w./-]+\.ts)`\s+`([#\w.]+)`/g)];
  const missing = named.filter(([, file = "", name = ""]) => {
    const source = readFileSync(join(root, file), "utf8");
    return !name.split(".").every((part) => source.includes(part));
  });
  expect(missing.map(([text]) => text)).toEqual([]);
  expect(named.length).toBeGreaterThan(25);
});
