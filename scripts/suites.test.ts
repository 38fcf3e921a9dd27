import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projects } from "../test/suites.ts";
import { commandFor, groups } from "./test.ts";

test("`npm test` without a suite runs what takes a minute, and `all` also what takes minutes", () => {
  expect(commandFor([]).slice(2)).toEqual(["--project", "unit", "--project", "main"]);
  const all = ["--project", "unit", "--project", "slow", "--project", "e2e", "--project", "search"];
  expect(commandFor(["all"]).slice(2)).toEqual(all);
});

test("a file is found in the project that has it, whichever that is", () => {
  const projectsFor = (file: string) => commandFor([file]).slice(2, -1);
  expect(projectsFor("src/base/clock.test.ts")).toEqual(["--project", "unit"]);
  expect(projectsFor("test/faults/crash.test.ts")).toEqual(["--project", "faults"]);
  expect(projectsFor("./src/backends/acp/host/other-builds.faults.test.ts")).toEqual(["--project", "faults"]);
  expect(projectsFor("test/browser")).toEqual(["--project", "browser"]);
  expect(projectsFor("test/e2e/main-job.test.ts")).toEqual(["--project", "e2e"]);
  expect(commandFor(["src/base/absent.test.ts"])).toContain("No test file");
  expect(commandFor(["src/base/clock.test.ts", "--watch"]).slice(0, 2)).toEqual(["vitest", "watch"]);
});

test("each file that is called slow exists", () => {
  expect(projects.slow.include.filter((file) => !existsSync(join(import.meta.dirname, "..", file)))).toEqual([]);
});

test("a suite takes its own arguments", () => {
  expect(commandFor(["faults", "--bail", "1"])).toEqual(["vitest", "run", "--project", "faults", "--bail", "1"]);
  expect(commandFor(["search", "soak", "--short"])).toEqual(["test/soak/run.ts", "--short"]);
  expect(commandFor(["unit,search"]).slice(2)).toEqual([
    "--project",
    "unit",
    "--project",
    "slow",
    "--project",
    "search",
  ]);
  expect(commandFor(["axis", "oldest"])).toEqual(["scripts/axis.ts", "oldest"]);
});

test("an unknown suite or name is answered with those that there are", () => {
  expect(commandFor(["crash"])).toContain("all, slow, unit, e2e, faults, browser, search, axis, programs");
  expect(commandFor(["programs"])).toContain("clients");
});

test("each run is a file that exists", () => {
  const files = Object.values(groups).flatMap((group) => Object.values(group).map(([file = ""]) => file));
  expect(files.filter((file) => file !== "vitest" && !existsSync(join(import.meta.dirname, "..", file)))).toEqual([]);
});
