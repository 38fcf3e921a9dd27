import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { commandRunner } from "./run-command.ts";

const never = new AbortController().signal;
const run = commandRunner(process.env);
const node = (script: string, limitMs = 100_000, signal = never, ...args: readonly string[]) =>
  run(process.execPath, ["-e", script, ...args], { limitMs }, signal);

it("gives what a program printed and how it ended, and nothing of what it complained", async () => {
  const answer = await node("console.log('out'); console.error('secret'); process.exitCode = 3");
  expect(answer).toEqual({ ok: true, value: { stdout: "out\n", exitCode: 3 } });
});

it("gives a failed program's own words to a caller who asks for them", async () => {
  const script = "console.error('no bus'); process.exitCode = 3";
  const answer = await run(process.execPath, ["-e", script], { limitMs: 100_000, withStderr: true }, never);
  expect(answer).toEqual({ ok: true, value: { stdout: "", exitCode: 3, stderr: "no bus\n" } });
});

it("hands arguments on as they are: no shell looks at them", async () => {
  const folder = temporaryFolder();
  const marker = join(folder, "made");
  const hostile = [`; touch ${marker}`, "$(id)", "`id`", "a b", '"', "*"];
  const answer = await node("console.log(JSON.stringify(process.argv.slice(1)))", 100_000, never, ...hostile);
  expect(answer.ok && JSON.parse(answer.value.stdout)).toEqual(hostile);
  expect(existsSync(marker)).toBe(false);
});

it("ends a program that hangs, and one that its caller no longer waits for", async () => {
  const deaf = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
  expect(await node(deaf, 200)).toEqual({ ok: false, why: expect.stringMatching(/^node\S* took longer than 0.2 s$/) });
  const controller = new AbortController();
  const left = node(deaf, 100_000, controller.signal);
  controller.abort(new Error("enough"));
  await expect(left).rejects.toThrow("enough");
});

it("ends a program that prints without an end", async () => {
  const endless = "const b = Buffer.alloc(1 << 20); const w = () => process.stdout.write(b, w); w()";
  expect(await node(endless)).toEqual({ ok: false, why: expect.stringContaining("printed more than anyone can use") });
});

it("says that a program could not be run where the system throws instead of telling", async () => {
  const answer = await run("true", ["x".repeat(4_000_000)], { limitMs: 100_000 }, never);
  expect(answer).toEqual({ ok: false, why: "true could not be run" });
});

it("says which program is not there", async () => {
  const answer = await commandRunner({ PATH: "/usr/bin:/bin" })("no-such-program", [], { limitMs: 100_000 }, never);
  expect(answer).toEqual({ ok: false, why: "no-such-program is not on this system's PATH" });
});
