import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary.ts";
import { checkClientSize, checkDashboardSize, dashboardSize } from "./dashboard-size.ts";

function dashboardOf(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "assets"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

const page = '<script src="/assets/index.js"></script>';

test("what the page names counts at once, what comes later only packed", () => {
  const folder = dashboardOf({
    "index.html": page,
    "assets/index.js": "a".repeat(1000),
    "assets/late.js": "b".repeat(9000),
  });
  const { first, packed } = dashboardSize(folder);
  expect(first).toBe(page.length + 1000);
  expect(packed).toBeLessThan(300);
});

test("a dashboard or a client library that is too large fails the build", () => {
  const folder = dashboardOf({ "index.html": page, "assets/index.js": "a".repeat(120_001) });
  expect(() => checkDashboardSize(folder)).toThrow("too large");
  expect(() => checkClientSize(folder)).not.toThrow(); // 120,001 equal letters are few bytes with gzip
  writeFileSync(join(folder, "assets/random.js"), randomBytes(120_000));
  expect(() => checkClientSize(folder)).toThrow("too large");
});
