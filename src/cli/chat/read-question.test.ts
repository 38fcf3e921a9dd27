import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PassThrough } from "node:stream";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import type { CommandContext } from "../command.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { openOutput } from "../terminal/output.ts";
import { readQuestion } from "./read-question.ts";

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

function open() {
  const io = fakeIo({ homeFolder: folder });
  let passMs: (ms: number) => void = () => undefined;
  const pausing = new Promise<number>((resolve) => {
    passMs = resolve;
  });
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const clock = {
    ...io.clock,
    sleep: (ms: number, signal: AbortSignal) => {
      passMs(ms);
      return new Promise<void>((resolve, reject) => {
        void released.then(resolve);
        signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
      });
    },
  };
  const out = openOutput(io.stdout, io.stderr, {});
  const context = { io: { ...io, clock }, out, signal: io.signal } as unknown as CommandContext;
  return { io, context, stdin: io.stdin as PassThrough, pausing, release };
}

test("words and piped text are one question, in this order", async () => {
  const { context, stdin } = open();
  stdin.end("diff --git a b\n");
  const question = await readQuestion({ words: ["Review", "this"], files: [] }, context);
  expect(question).toBe("Review this\n\ndiff --git a b");
});

test("a pipe that stays open and empty delays a question by three seconds, and says so", async () => {
  const { context, io, pausing, release } = open();
  const question = readQuestion({ words: ["Hello"], files: [] }, context);
  expect(await pausing).toBe(3000);
  release();
  expect(await question).toBe("Hello");
  expect(io.written.stderr()).toContain("Nothing was piped within 3 s");
});

test("a lone dash, or no words, waits for piped text without a limit", async () => {
  for (const words of [["Explain", "-"], []]) {
    const { context, stdin, release } = open();
    const question = readQuestion({ words, files: [] }, context);
    release(); // no timer may matter
    stdin.end("late");
    expect(await question).toBe([...words.filter((word) => word !== "-"), "late"].join("\n\n"));
  }
});

test("a file stands in a fence that its own text cannot end", async () => {
  const path = join(folder, "notes.md");
  writeFileSync(path, "````\ncode\n````\n");
  const { context, stdin } = open();
  stdin.end();
  const question = await readQuestion({ words: ["Look"], files: [path] }, context);
  expect(question).toBe("Look\n\nnotes.md:\n`````\n````\ncode\n````\n`````");
});

test.each([
  ["missing.txt", undefined, "does not exist"],
  ["picture.bin", Buffer.from([0xff, 0xfe, 0x00]), "is not a text file"],
])("%s is refused by name", async (name, bytes, why) => {
  const path = join(folder, name);
  if (bytes !== undefined) writeFileSync(path, bytes);
  const { context, stdin } = open();
  stdin.end();
  await expect(readQuestion({ words: ["Look"], files: [path] }, context)).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining(why) as unknown,
  });
});

test("nothing at all is refused with an example", async () => {
  const { context, stdin } = open();
  stdin.end("  \n");
  await expect(readQuestion({ words: [], files: [] }, context)).rejects.toMatchObject({ code: "invalid_request" });
});
