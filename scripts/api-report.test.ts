import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { apiReport } from "./api-report.ts";
import { publicEntries } from "./bundle/bundle.ts";

const root = join(import.meta.dirname, "..");

test("what the package exports is what scripts/public-api.txt says (`npm run generate -- api` writes it)", {
  timeout: 300_000,
}, () => {
  expect(apiReport(root, publicEntries)).toBe(readFileSync(join(root, "scripts/public-api.txt"), "utf8"));
});

test("package.json has the types of each entry", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  }; // our own file
  const types = Object.values(exports).flatMap((entry) => (typeof entry === "string" ? [] : [entry.types]));
  expect(new Set(types)).toEqual(new Set(Object.keys(publicEntries).map((name) => `./dist/types/${name}.d.ts`)));
});
