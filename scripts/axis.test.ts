import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import axis from "./axis.json" with { type: "json" };
import runtimes from "./runtimes/package.json" with { type: "json" };

const read = (file: string) => readFileSync(join(import.meta.dirname, "..", file), "utf8");
const { oldest, corners } = axis.node;

test("the oldest Node of the axis is the one that the package, its refusal and the repository's own commands name", () => {
  const { engines } = JSON.parse(read("package.json")) as { readonly engines: { readonly node: string } }; // our own
  expect(engines.node).toBe(`>=${oldest}`);
  expect(read("src/cli/bin.ts")).toContain(`Millrace needs Node ${oldest} or newer`);
  expect(read("scripts/run.mjs")).toContain(`is older than ${oldest}`);
});

test("each Node of the axis is installed for the tests, and docs/platforms.md names it", () => {
  const pinned = runtimes.optionalDependencies;
  const developed = "24"; // what the repository runs on
  const names = corners.filter((corner) => corner !== developed);
  expect(Object.keys(pinned).toSorted()).toEqual(
    names.map((corner) => (corner === "bun" ? "@oven/bun-linux-x64" : `node-${corner}`)).toSorted(),
  );
  expect(pinned["node-22.13"]).toContain(`@${oldest}.`);
  const page = read("docs/platforms.md");
  for (const corner of corners) expect(page).toMatch(corner === "bun" ? /Bun/ : new RegExp(`\\b${corner}\\b`));
});

test("a corner that a run stands on is one of the axis", () => {
  const { oldest: first, newest } = axis.runs;
  expect(axis.user.corners).toContain(first.user);
  expect(axis.path.corners).toContain(first.folder);
  expect(axis.locale.corners).toContain(first.locale);
  expect(axis.container.corners).toContain(newest.container);
});
