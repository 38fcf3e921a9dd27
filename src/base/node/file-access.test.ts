import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { barrierTo, keepToYourself, lookAt } from "./file-access.ts";

test("who may use a file is asked in the words of the system, and a path with blanks is quoted", () => {
  expect(lookAt("/a b/c", "linux")).toBe('`ls -ld "/a b/c"` shows whose it is.');
  expect(lookAt("C:\\Users\\a\\key", "win32")).toBe("`icacls C:\\Users\\a\\key` shows who may use it.");
  expect(keepToYourself("/a/key", "600")).toBe("Run `chmod 600 /a/key`.");
});

test("nothing bars a file that can be used, or that is not there, and Windows is not asked", () => {
  expect(barrierTo(import.meta.filename)).toBeUndefined();
  const own = temporaryFolder();
  expect(barrierTo(join(own, "nonexistent/folder/file"))).toBeUndefined();
  expect(barrierTo("C:\\nonexistent", "win32")).toBeUndefined();
});
