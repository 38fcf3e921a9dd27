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

test("package.json has the types of each entry, and tsconfig.json where a checkout has them", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  }; // our own file
  const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8")) as {
    readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly string[]>> };
  }; // our own file, without comments
  const entries = Object.keys(exports).filter((name) => name !== "./package.json");
  const inCheckout = entries.map((name) => compilerOptions.paths[name.replace(".", "millrace")]?.[0] ?? name);
  expect(new Set(inCheckout)).toEqual(new Set(Object.values(publicEntries).map((entry) => `./${entry}`)));
  const types = Object.values(exports).flatMap((entry) => (typeof entry === "string" ? [] : [entry.types]));
  expect(new Set(types)).toEqual(new Set(Object.keys(publicEntries).map((name) => `./dist/types/${name}.d.ts`)));
});
