import { expect, it } from "vitest";
import { parseTasklist, residentMemory } from "./resident-memory.ts";

it.each([
  ['"devin.exe","4242","Console","1","123,456 K"\r\n', 123_456 * 1024],
  ['"devin.exe","4242","Console","1","123.456 K"\r\n', 123_456 * 1024],
  ['"devin.exe","4242","Console","1","1\u00a0123\u00a0456 K"\r\n', 1_123_456 * 1024],
  ["INFO: No tasks are running which match the specified criteria.\r\n", undefined],
  ["", undefined],
])("reads the memory in %j", (text, bytes) => expect(parseTasklist(text)).toBe(bytes));

it("reports the memory of this process, and none for a process that ended", async () => {
  expect(await residentMemory(process.pid)).toBeGreaterThan(10_000_000);
  expect(await residentMemory(2 ** 22 + 1)).toBeUndefined();
});
