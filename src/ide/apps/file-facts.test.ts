import { chmod, mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { readFileFacts, riskOf } from "./file-facts.ts";

const never = new AbortController().signal;
const onUnix = process.platform !== "win32";

describe("what a file shows", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await realpath(temporaryFolder());
  });

  it.runIf(onUnix)("is that of the file behind a link, and whether it may be run", async () => {
    const program = join(folder, "program");
    await writeFile(program, "#!/bin/sh\n", { mode: 0o755 });
    await symlink(program, join(folder, "link"));
    expect(await readFileFacts(join(folder, "link"), never)).toMatchObject({
      realPath: program,
      kind: "file",
      executable: true,
      risk: undefined,
    });
    await chmod(program, 0o644);
    expect(await readFileFacts(program, never)).toMatchObject({ executable: false });
    expect(await readFileFacts(folder, never)).toMatchObject({ kind: "folder" });
  });

  it.runIf(onUnix)("names a mode or a folder by which another user could change it", async () => {
    const open = join(folder, "open");
    await mkdir(open);
    await writeFile(join(open, "program"), "", { mode: 0o755 });
    await chmod(open, 0o777);
    expect(await readFileFacts(join(open, "program"), never)).toMatchObject({
      risk: "lies in a folder that every user can write",
    });
    await chmod(join(open, "program"), 0o757);
    expect(await readFileFacts(join(open, "program"), never)).toMatchObject({ risk: "can be written by every user" });
  });
});

const mine = { uid: 1000, gid: 1000, mode: 0o100755 };
const system = { uid: 0, gid: 0, mode: 0o40755 };

it.each([
  ["an ordinary program of this user", mine, mine, undefined],
  ["one that the system installed", { uid: 0, gid: 0, mode: 0o100775 }, system, undefined],
  ["one of this user's own group", { ...mine, mode: 0o100775 }, mine, undefined],
  ["one of a common group", { ...mine, gid: 20, mode: 0o100775 }, mine, "can be written by its group"],
  ["another user's", { ...mine, uid: 1001 }, mine, "belongs to another user"],
  ["one in another user's folder", mine, { ...mine, uid: 1001 }, "lies in a folder of another user"],
  ["one in a sticky folder", mine, { ...system, mode: 0o41777 }, undefined],
])("the risk of %s", (_, file, folder, risk) => {
  expect(riskOf(file, folder, 1000)).toBe(risk);
});
