import type { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { idle } from "../../base/wait.fake.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { openOutput } from "../terminal/output.ts";
import { openEditor } from "./hold-conversation.ts";

function open() {
  const io = fakeIo({ homeFolder: "/nowhere" });
  const out = openOutput(io.stdout, io.stderr, {});
  return { stdin: io.stdin as PassThrough, io, editor: openEditor({ io, out }) };
}

test("a line, a line that continues, and pasted lines are one text each", async () => {
  const { stdin, editor } = open();
  for (const [typed, text] of [
    ["one line\r", "one line"],
    ["first\\\rsecond\r", "first\nsecond"],
    ["pasted\rtogether\r", "pasted\ntogether"],
  ] as const) {
    const entered = editor.read();
    stdin.write(typed);
    expect(await entered).toBe(text);
  }
  editor.close();
});

test("Ctrl-C drops what was typed, and leaves where that is nothing, as Ctrl-D does", async () => {
  for (const leave of ["\u0003", "\u0004"]) {
    const { stdin, editor } = open();
    const entered = editor.read();
    stdin.write("half a thou\u0003whole\r");
    expect(await entered).toBe("whole");
    const last = editor.read();
    stdin.write(leave);
    expect(await last).toBeUndefined();
  }
});

test("what is typed while an answer comes is the next entry, and is not shown before", async () => {
  const { stdin, editor, io } = open();
  const before = io.written.stdout();
  await editor.during(new AbortController(), async () => {
    stdin.write("typed early\rin two lines\rand a ha");
    await idle();
    expect(io.written.stdout()).toBe(before);
  });
  expect(await editor.read()).toBe("typed early\nin two lines");
  expect(io.written.stdout()).toContain("typed early\nin two lines");
  const next = editor.read();
  stdin.write("lf\r");
  expect(await next).toBe("and a half");
  editor.close();
});

test("Ctrl-C stops an answer, and drops the lines that were typed meanwhile", async () => {
  const { stdin, editor } = open();
  const stop = new AbortController();
  await editor.during(stop, async () => {
    stdin.write("typed early\r\u0003");
    await idle();
  });
  expect(stop.signal.aborted).toBe(true);
  const next = editor.read();
  stdin.write("sent\r");
  expect(await next).toBe("sent");
  editor.close();
});

test("Ctrl-D while an answer comes ends the conversation after it, also behind a line that was typed", async () => {
  for (const [typed, entries] of [
    ["\u0004", [undefined, undefined]],
    ["next\r\u0004", ["next", undefined]],
  ] as const) {
    const { stdin, editor } = open();
    const stop = new AbortController();
    await editor.during(stop, async () => {
      stdin.write(typed);
      await idle();
    });
    expect([await editor.read(), await editor.read(), stop.signal.aborted]).toEqual([...entries, false]);
  }
});

test("a paste that ends with a line feed waits for Enter, where the terminal marks pastes", async () => {
  const { stdin, editor, io } = open();
  expect(io.written.stdout()).toContain("\u001b[?2004h");
  const entered = editor.read();
  let isEntered = false;
  void entered.then(() => (isEntered = true));
  stdin.write("\u001b[200~first\rsecond\r\u001b[201~");
  await idle();
  expect(isEntered).toBe(false);
  stdin.write("and mine\r");
  expect(await entered).toBe("first\nsecond\nand mine");
  editor.close();
  expect(io.written.stdout()).toContain("\u001b[?2004l");
});
