import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { MillraceError } from "../errors.ts";
import { fileProblem, withFileReason } from "./file-problem.ts";

const failure = (code: string, syscall: string, path?: string) =>
  Object.assign(new Error(code), { code, syscall, path });

test.each([
  ["ENOSPC", "write", undefined, "A file of Millrace cannot be written: the disk is full."],
  ["ENOSPC", "open", "/a/b", "/a/b cannot be written: the disk is full."],
  ["EDQUOT", "write", undefined, "A file of Millrace cannot be written: your disk quota is used up."],
  ["EDQUOT", "mkdir", "/a", "/a cannot be written: your disk quota is used up."],
  ["EROFS", "rename", "/a", "/a cannot be written: the disk is read-only."],
  ["EMFILE", "open", "/a", "/a cannot be written: this process has too many files open."],
  ["ENFILE", "open", "/a", "/a cannot be written: this machine has too many files open."],
  ["ENOENT", "mkdir", "/a", "/a cannot be written: the disk may be read-only."],
  ["EEXIST", "mkdir", "/a", "/a cannot be written: a file stands where a folder must be."],
  ["EISDIR", "open", "/a/b", "/a/b cannot be written: a folder stands where a file must be."],
  ["ENOTDIR", "open", "/a/b", "/a/b cannot be written: a file stands where a folder must be."],
  ["ELOOP", "stat", "/a/b", "/a/b cannot be read: links on the way to it lead to themselves."],
  ["ENAMETOOLONG", "mkdir", "/a/b", "/a/b cannot be written: the path is too long."],
  ["ENOTCONN", "scandir", "/a", "/a cannot be read: the disk is not connected."],
  ["ENOENT", "mkdtemp", "/a/b-XXXXXX", "/a/b-XXXXXX cannot be written: its folder is missing."],
  ["EROFS", "mkdtemp", "/a/b-XXXXXX", "/a/b-XXXXXX cannot be written: the disk is read-only."],
  ["EIO", "fsync", undefined, "A file of Millrace cannot be written: the disk reports an error."],
])("%s of %s on %s is told as it is", (code, syscall, path, message) => {
  expect(fileProblem(failure(code, syscall, path))).toMatchObject({ code: "degraded", message });
});

test.each([
  ["open", "cannot be written: you may not write there."],
  ["scandir", "cannot be read: you may not read there."],
])("EACCES of %s, where no folder above explains it, is told as it is", (syscall, message) => {
  const folder = temporaryFolder(); // whose user runs this test
  const path = join(folder, "a");
  expect(fileProblem(failure("EACCES", syscall, path))?.message).toBe(`${path} ${message}`);
});

test.each([
  ["ENOENT", "open"],
  ["EACCES", "listen"],
  ["EACCES", "spawn devin"],
  ["EPERM", "kill"],
  ["EEXIST", "open"],
  ["EMFILE", "connect"],
])("%s of %s is no such failure", (code, syscall) => {
  expect(fileProblem(failure(code, syscall, "/a"))).toBeUndefined();
});

test("a file that cannot be replaced is named, not its draft", () => {
  const error = Object.assign(failure("EROFS", "rename", "/a.new"), { dest: "/a" });
  expect(fileProblem(error)?.message).toBe("/a cannot be written: the disk is read-only.");
});

test.each(["EPERM", "EACCES", "EBUSY"])("on Windows %s may mean that another program has the file open", (code) => {
  expect(fileProblem(failure(code, "rename", "C:\\a"), undefined, "win32")).toMatchObject({
    message: "C:\\a cannot be written: you may not write there, or another program has it open.",
    hint: "Close other programs that use it, then try again.",
  });
});

test("a write through a descriptor names the file that its caller knows", () => {
  expect(fileProblem(failure("ENOSPC", "write"), "/a/log")?.message).toBe(
    "/a/log cannot be written: the disk is full.",
  );
});

test("an error that names only what failed gets the reason, however deep it is", () => {
  const cause = new Error("outer", { cause: failure("ENOSPC", "write") });
  const vague = new MillraceError("degraded", "The key cannot be made.", { hint: "Look at the folder.", cause });
  expect(withFileReason(vague, "A file in /a")).toMatchObject({
    message: "The key cannot be made. A file in /a cannot be written: the disk is full.",
    hint: "Free some space, then try again.",
  });
  expect(withFileReason(cause, "A file in /a")).toMatchObject({ code: "degraded" });
  expect(withFileReason(new Error("a bug"), "/a")).toMatchObject({ code: "internal" });
  const other = new MillraceError("not_signed_in", "No account.", { cause });
  expect(withFileReason(other, "/a")).toBe(other);
});
