import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { closes, runAll, toMarkdown } from "./report.ts";

const page = join(import.meta.dirname, "../../docs/stream-protocol.md");
const begin = "<!-- model: begin -->\n";
const end = "\n<!-- model: end -->";
const report = runAll();

test("the algorithm with every fix has no violation in any state", () => {
  expect(report.ours.found).toEqual([]);
  expect(report.ours.explored).toBeGreaterThan(10_000);
});

test.each([...report.publishedOnes])("the published algorithm shows %s", (hazard, verdict) => {
  expect(verdict.found.map((one) => one.hazard)).toContain(hazard);
});

test.each([...report.without])("without %s its hazard comes back", (name, verdict) => {
  expect(verdict.found.map((one) => one.hazard)).toContain(closes[name]);
});

test("the page shows these very results", () => {
  const [before = "", after = ""] = readFileSync(page, "utf8").split(new RegExp(`${begin}[^]*${end}`));
  const whole = `${before}${begin}${toMarkdown(report)}${end}${after}`;
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(page, whole);
  expect(readFileSync(page, "utf8")).toBe(whole);
});
