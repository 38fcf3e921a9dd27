import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { profileNames } from "./profile.ts";

const page = readFileSync(new URL("../docs/dev/simulator.md", import.meta.url), "utf8");

it("docs/dev/simulator.md has a row for every profile; the schemas describe the options", () => {
  const named = [...page.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([\w.-]+)`/g)].map(([, name = ""]) => name),
  );
  expect(named.slice(1).toSorted()).toEqual([...profileNames].toSorted());
});
