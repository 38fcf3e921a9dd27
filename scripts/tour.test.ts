import { readdirSync, readFileSync } from "node:fs";
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

/** Each function on a path is a file to read. So the number may not grow. */
const mostHops = { "A streamed request": 18, "A reconnect": 8, "A restart": 11 } as const;

test.each(Object.entries(mostHops))("%s goes through at most %i functions, which are there", (section, most) => {
  const page = readFileSync(join(root, "docs/dev/tour.md"), "utf8");
  const text = page.split(`## ${section}\n`)[1]?.split("\n## ")[0] ?? "";
  const path = /Function by function, [^]*?\n\n/.exec(text)?.[0] ?? "";
  const hops = [...path.matchAll(/`([#\w.]+)`/g)].map(([, name = ""]) => name);
  const missing = hops.filter((name) => !name.split(".").every((part) => sources.includes(`${part}(`) || named(part)));
  expect(missing).toEqual([]);
  expect(hops.length).toBeGreaterThan(5);
  expect(hops.length).toBeLessThanOrEqual(most);
});

const sources = ["log", "turns", "backends", "gateway"]
  .flatMap((folder) =>
    readdirSync(join(root, "src", folder), { recursive: true, encoding: "utf8" }).map((file) =>
      join(root, "src", folder, file),
    ),
  )
  .filter((file) => file.endsWith(".ts") && !/\.(test|fake|conformance)\.ts$/.test(file))
  .map((file) => readFileSync(file, "utf8"))
  .join("\n");

function named(part: string): boolean {
  return new RegExp(`(class|interface|const) ${part}\\b`).test(sources);
}
