import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { moveFile, moveFileSync, remove, removeSync, whenFree, whenFreeSync } from "./move-file.ts";

const failure = (code: string) => Object.assign(new Error(code), { code });

/** Work that fails so often with this code, and how often it was tried. */
function failing(times: number, code: string) {
  const work = {
    tries: 0,
    try: () => {
      if (++work.tries <= times) throw failure(code);
    },
  };
  return work;
}

const waits = [
  ["whenFree", async (work: () => void, platform: string) => whenFree(async () => work(), platform)],
  ["whenFreeSync", async (work: () => void, platform: string) => whenFreeSync(work, platform)],
] as const;

describe.each(waits)("%s", (_, wait) => {
  it.each(["EPERM", "EACCES", "EBUSY"])("tries again on Windows after %s", async (code) => {
    const work = failing(3, code);
    await wait(work.try, "win32");
    expect(work.tries).toBe(4);
  });

  it("gives up on Windows after eight tries, with the error of the last", async () => {
    const work = failing(100, "EBUSY");
    await expect(wait(work.try, "win32")).rejects.toThrow("EBUSY");
    expect(work.tries).toBe(8);
  });

  it.each([
    ["EPERM", "linux"],
    ["EBUSY", "darwin"],
    ["ENOENT", "win32"],
    ["ENOSPC", "win32"],
  ])("throws %s of %s at once", async (code, platform) => {
    const work = failing(1, code);
    await expect(wait(work.try, platform)).rejects.toThrow(code);
    expect(work.tries).toBe(1);
  });
});

describe.each([
  ["sync", moveFileSync, removeSync],
  ["async", moveFile, remove],
] as const)("%s", (_, move, take) => {
  it("moves a file over another, and removes what is there, a folder only when it is told", async () => {
    const folder = temporaryFolder();
    const [from, to] = [join(folder, "from"), join(folder, "to")];
    writeFileSync(from, "new");
    writeFileSync(to, "old");
    await move(from, to);
    expect(readFileSync(to, "utf8")).toBe("new");
    await take(to);
    await take(to);
    await expect((async () => move(from, to))()).rejects.toThrow("ENOENT");
    await expect((async () => take(folder))()).rejects.toThrow(/EISDIR|EPERM|directory/);
    await remove(folder, { recursive: true });
    await expect((async () => readFileSync(to))()).rejects.toThrow("ENOENT");
  });
});
