import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { processExists } from "./process-exists.ts";

test("a process exists until it has ended; one of another user exists too", async () => {
  const child = spawn(process.execPath, ["--eval", "setInterval(() => {}, 1e6)"]);
  await once(child, "spawn");
  const { pid } = child;
  if (pid === undefined) throw new Error("a process that was spawned has no id");
  expect(processExists(pid)).toBe(true);
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  expect(processExists(pid)).toBe(false);
  expect(processExists(process.pid)).toBe(true);
});

test.skipIf(process.platform === "win32")("process 1 exists for every user", () => {
  expect(processExists(1)).toBe(true);
});
