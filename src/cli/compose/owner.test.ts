import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { ownerIsGone, ownerName } from "./own-cascades.ts";

const self = ownerName("a");

test("an owner is gone when its pid is free, or was an earlier life of ours", () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  expect(ownerIsGone(`${hostname()}/${pid}/b`, self)).toBe(true);
  expect(ownerIsGone(`${hostname()}/${process.pid}/b`, self)).toBe(true);
});

test("an owner that lives, is ours, or ran on another machine is left alone", () => {
  expect(ownerIsGone(self, self)).toBe(false);
  expect(ownerIsGone(`${hostname()}/${process.ppid}/b`, self)).toBe(false);
  expect(ownerIsGone("elsewhere/1/b", self)).toBe(false);
});
