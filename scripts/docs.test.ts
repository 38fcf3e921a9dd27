import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generatedPages } from "./docs.ts";

const root = join(import.meta.dirname, "..");

test.each(Object.entries(await generatedPages()))("%s is current: `npm run generate` writes it", (file, text) => {
  expect(readFileSync(join(root, file), "utf8")).toBe(text);
});
