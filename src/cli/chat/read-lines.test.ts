import type { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { idle } from "../../base/wait.fake.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { openOutput } from "../terminal/output.ts";
import { LineReader } from "./hold-conversation.ts";

function open() {
  const io = fakeIo({ homeFolder: "/nowhere" });
  const out = openOutput(io.stdout, io.stderr, {});
  return { stdin: io.stdin as PassThrough, io, reader: new LineReader({ io, out }) };
}

test("a line, a line that continues, a block of lines, and pasted lines are one text each", async () => {
  const { stdin, reader } = open();
  for (const [typed, text] of [
    ["one line\r", "one line"],
    ["first\\\rsecond\r", "first\nsecond"],
    ['"""\ra\r\rb\r"""\r', "a\n\nb"],
    ["pasted\rtogether\r", "pasted\ntogether"],
  ] as const) {
    const entered = reader.read("> ");
    stdin.write(typed);
    expect(await entered).toEqual({ type: "text", text });
  }
  reader.close();
});

test("Ctrl-C at the prompt drops what was typed; the end of the input ends the conversation", async () => {
  const { stdin, reader } = open();
  const first = reader.read("> ");
  stdin.write("half a thou\u0003");
  expect(await first).toEqual({ type: "interrupt" });
  const second = reader.read("> ");
  stdin.write("whole\r");
  expect(await second).toEqual({ type: "text", text: "whole" });
  const third = reader.read("> ");
  stdin.write("\u0004");
  expect(await third).toEqual({ type: "end" });
});

test("what is typed while an answer comes is kept, and is the next entry", async () => {
  const { stdin, reader, io } = open();
  const before = io.written.stdout();
  await reader.during(
    () => undefined,
    async () => {
      stdin.write("typed early\rin two lines\rand a ha");
      await idle();
      expect(io.written.stdout()).toBe(before);
    },
  );
  expect(await reader.read("> ")).toEqual({ type: "text", text: "typed early\nin two lines" });
  expect(io.written.stdout()).toContain("typed early\nin two lines");
  const next = reader.read("> ");
  stdin.write("lf\r");
  expect(await next).toEqual({ type: "text", text: "and a half" });
  reader.close();
});

test("Ctrl-C stops an answer, and what was typed meanwhile waits at the prompt", async () => {
  const { stdin, reader } = open();
  let finish: (how: string) => void = () => undefined;
  const answer = new Promise<string>((resolve) => (finish = resolve));
  const stopped = await reader.during(
    () => finish("stopped"),
    () => {
      stdin.write("typed early\r\u0003");
      return answer;
    },
  );
  expect(stopped).toBe("stopped");
  const next = reader.read("> ");
  stdin.write(", and sent\r");
  expect(await next).toEqual({ type: "text", text: "typed early, and sent" });
  reader.close();
});

test("Ctrl-D while an answer comes ends the conversation after it, also behind a line that was typed", async () => {
  const end = { type: "end" };
  for (const [typed, entries] of [
    ["\u0004", [end, end]],
    ["next\r\u0004", [{ type: "text", text: "next" }, end]],
  ] as const) {
    const { stdin, reader } = open();
    await reader.during(
      () => undefined,
      async () => {
        stdin.write(typed);
        await idle();
      },
    );
    expect([await reader.read("> "), await reader.read("> ")]).toEqual(entries);
  }
});

test("a paste that ends with a line feed waits for Enter, where the terminal marks pastes", async () => {
  const { stdin, reader, io } = open();
  expect(io.written.stdout()).toContain("\u001b[?2004h");
  const entered = reader.read("> ");
  let isEntered = false;
  void entered.then(() => (isEntered = true));
  stdin.write("\u001b[200~first\rsecond\r\u001b[201~");
  await idle();
  expect(isEntered).toBe(false);
  stdin.write("and mine\r");
  expect(await entered).toEqual({ type: "text", text: "first\nsecond\nand mine" });
  reader.close();
  expect(io.written.stdout()).toContain("\u001b[?2004l");
});
