import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generatedPages } from "./docs.ts";

const root = join(import.meta.dirname, "..");

test.each(Object.entries(await generatedPages()))("%s is current: `npm run generate` writes it", (file, text) => {
  expect(readFileSync(join(root, file), "utf8")).toBe(text);
});

test("every variable that the sources read is in docs/reference.md", () => {
  const page = readFileSync(join(root, "docs/reference.md"), "utf8");
  const own = new Set(["MILLRACE_API_KEY", "MILLRACE_STARTED_BY"]); // clients read the one; the gateway tells itself the other
  const folder = join(root, "src/cli");
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !/\.(?:test|fake)\.ts$/.test(file),
  );
  const read = sources.flatMap((file) =>
    [...readFileSync(join(folder, file), "utf8").matchAll(/env(?:\[|: )"(MILLRACE_[A-Z_]+)"/g)].map(
      ([, name]) => name ?? "",
    ),
  );
  expect(read.length).toBeGreaterThan(20);
  expect([...new Set(read)].filter((name) => !own.has(name) && !page.includes(`\`${name}\``))).toEqual([]);
});
