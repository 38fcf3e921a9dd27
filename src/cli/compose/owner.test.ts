import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { ownProcess, spellOwner } from "../../base/node/process-owner.ts";
import { isElsewhere, ownerIsGone, ownerName } from "./own-cascades.ts";

const self = ownerName("a");
const other = (changes: object) => `${spellOwner({ ...ownProcess(), ...changes })}/b`;

test("an owner is gone when its pid is free, or was an earlier life of ours", () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  expect(ownerIsGone(other({ pid }), self)).toBe(true);
  expect(ownerIsGone(other({}), self)).toBe(true);
});

test("an owner is gone when another process has its pid by now", () => {
  expect(ownerIsGone(other({ pid: process.ppid, started: "1" }), self)).toBe(true);
});

test("an owner that lives, is ours, or ran on another machine is left alone", () => {
  expect(ownerIsGone(self, self)).toBe(false);
  expect(ownerIsGone(other({ pid: process.ppid, started: "" }), self)).toBe(false);
  for (const owner of [other({ machine: "another", boot: "another" }), "elsewhere/1/b"])
    expect([ownerIsGone(owner, self), isElsewhere(owner)]).toEqual([false, true]);
  expect(isElsewhere(other({ pid: process.ppid, started: "" }))).toBe(false);
});
