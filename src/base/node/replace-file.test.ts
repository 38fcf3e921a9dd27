import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { replaceFile, replaceFileSync } from "./replace-file.ts";

let folder = "";
beforeEach(() => {
  folder = temporaryFolder();
});

const ways = [
  [
    "replaceFile",
    async (path: string, text: string, mode?: number) => replaceFile(path, text, mode === undefined ? {} : { mode }),
  ],
  ["replaceFileSync", async (path: string, text: string, mode?: number) => replaceFileSync(path, text, mode)],
] as const;

describe.each(ways)("%s", (_, replace) => {
  it("puts the new content in the old one's place, and leaves nothing beside it", async () => {
    const path = join(folder, "a");
    await replace(path, "old and long");
    await replace(path, "new");
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(readdirSync(folder)).toEqual(["a"]);
  });

  it.skipIf(process.platform === "win32")("sets the mode, also where another one was", async () => {
    const path = join(folder, "a");
    writeFileSync(path, "old");
    chmodSync(path, 0o644);
    await replace(path, "new");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await replace(path, "new", 0o755);
    expect(statSync(path).mode & 0o777).toBe(0o755);
  });

  it("leaves no draft where the place cannot be taken", async () => {
    mkdirSync(join(folder, "a/b"), { recursive: true });
    await expect(replace(join(folder, "a"), "new")).rejects.toThrow(/EISDIR|EPERM|ENOTEMPTY|EEXIST/);
    expect(readdirSync(folder)).toEqual(["a"]);
  });
});

it("replaceFile writes over a draft that a crash left", async () => {
  const path = join(folder, "a");
  writeFileSync(`${path}.new`, "a longer text that was never finished");
  await replaceFile(path, "new", { flush: true });
  expect(readFileSync(path, "utf8")).toBe("new");
  expect(readdirSync(folder)).toEqual(["a"]);
});
