import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandFor, groups } from "./test.ts";

test("`npm test` without a suite runs what takes minutes on any machine", () => {
  expect(commandFor([]).slice(2)).toEqual(["--project", "unit", "--project", "e2e", "--project", "search"]);
  expect(commandFor(["src/base/ids.test.ts"]).at(-1)).toBe("src/base/ids.test.ts");
});

test("a suite takes its own arguments", () => {
  expect(commandFor(["faults", "--bail", "1"])).toEqual(["vitest", "run", "--project", "faults", "--bail", "1"]);
  expect(commandFor(["search", "soak", "--short"])).toEqual(["test/soak/run.ts", "--short"]);
});

test("an unknown suite or name is answered with those that there are", () => {
  expect(commandFor(["crash"])).toContain("unit, e2e, faults, search, programs");
  expect(commandFor(["search"])).toContain("crash");
});

test("each run is a file that exists", () => {
  const files = Object.values(groups).flatMap((group) => Object.values(group).map(([file = ""]) => file));
  expect(files.filter((file) => file !== "vitest" && !existsSync(join(import.meta.dirname, "..", file)))).toEqual([]);
});
