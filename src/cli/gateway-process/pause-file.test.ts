import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { endPause, pause, readPause, stopIfPaused } from "./pause-file.ts";

const newFile = () => join(temporaryFolder(), "paused");

test("a pause holds from its first moment until it is ended", () => {
  const file = newFile();
  expect(readPause(file)).toBeUndefined();
  pause(file, 1_000);
  pause(file, 2_000);
  expect(readPause(file)).toEqual({ since: "1970-01-01T00:00:01.000Z" });
  expect(() => stopIfPaused(file)).toThrow("paused by its owner");
  expect([endPause(file), endPause(file)]).toEqual([true, false]);
  expect(() => stopIfPaused(file)).not.toThrow();
});

test.each([
  ["has no time", (file: string) => writeFileSync(file, "soon")],
  ["cannot be read", (file: string) => mkdirSync(file)],
])("a pause file that %s is a pause", (_, write) => {
  const file = newFile();
  write(file);
  expect(readPause(file)).toEqual({ since: null });
  expect(() => stopIfPaused(file)).toThrow("paused by its owner");
});
