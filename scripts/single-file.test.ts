import { open } from "node:fs/promises";
import { expect, test } from "vitest";
import { platformOf } from "./single-file.ts";

/** A head of a file: words of four bytes at their places. */
function head(words: Readonly<Record<number, number>>): Buffer {
  const bytes = Buffer.alloc(256);
  for (const [at, word] of Object.entries(words)) bytes.writeUInt32LE(word, Number(at));
  return bytes;
}

test("a program's platform is read from its first bytes", async () => {
  await using file = await open(process.execPath);
  const { buffer } = await file.read({ length: 4096 });
  expect(platformOf(buffer)).toBe(`${process.platform}-${process.arch}`);
  expect(platformOf(head({ 0: 0x464c457f, 16: 0x00b70003 }))).toBe("linux-arm64");
  expect(platformOf(head({ 0: 0xfeedfacf, 4: 0x1000007 }))).toBe("darwin-x64");
  expect(platformOf(head({ 0: 0xfeedfacf, 4: 0x100000c }))).toBe("darwin-arm64");
  const windows = { 0: 0x00905a4d, 0x3c: 0x80, 0x80: 0x4550 };
  expect(platformOf(head({ ...windows, 0x84: 0x8664 }))).toBe("win32-x64");
  expect(platformOf(head({ ...windows, 0x84: 0xaa64 }))).toBeUndefined();
  for (const other of ["", "#!/bin/sh\n", "MZ"]) expect(platformOf(Buffer.from(other))).toBeUndefined();
});
